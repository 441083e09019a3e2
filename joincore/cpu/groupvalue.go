package cpu

import "gpujoin/joincore"

// eval evaluates a value for the rows of a chunk.
func (g *grouper) eval(r *rows, o *typedValue, v *vector) error {
	return o.compiled.eval(g.st, r, v)
}

// ints evaluates an integer of at most 8 bytes. null is nil where no row is
// NULL.
func (g *grouper) ints(r *rows, o *typedValue, v *vector) (ints []uint64, null []uint8, err error) {
	if err := g.eval(r, o, v); err != nil {
		return nil, nil, err
	}
	return unsigned(v.lo[:r.n]), v.isNull(), nil
}

// isNull returns which values are NULL; nil: none is.
func (v *vector) isNull() []uint8 {
	if !v.nullable {
		return nil
	}
	return v.nulls[:v.n]
}

// condition evaluates a condition.
func (g *grouper) condition(r *rows, e joincore.Expr, out []uint8) error {
	return g.st.dev.condition(e, g.plan.spec.Parameters).eval(g.st, r, out)
}
