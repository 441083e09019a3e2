package cpu

import "gpujoin/joincore"

// caseValue is CASE. Each arm is evaluated for the rows that take it.
type caseValue struct {
	whens []when
	other value
}

type when struct {
	condition condition
	then      value
}

func compileCase(c *joincore.Case, parameters []joincore.Parameter) *caseValue {
	out := &caseValue{other: compileValue(c.Else, parameters)}
	for _, w := range c.Whens {
		out.whens = append(out.whens, when{compile(w.Condition, parameters), compileValue(w.Then, parameters)})
	}
	return out
}

func (c *caseValue) eval(st *stream, r *rows, out *vector) error {
	out.allNull(r.n)
	return c.from(st, r, nil, out, c.whens)
}

// from evaluates the arms that are left for the rows r, whose numbers in out
// are in sel; nil: all.
func (c *caseValue) from(st *stream, r *rows, sel []uint32, out *vector, whens []when) error {
	if r.n == 0 {
		return nil
	}
	if len(whens) == 0 {
		return st.putValue(c.other, r, sel, out)
	}
	t := st.takeTruth(r.n)
	defer st.drop(0, 1, 0)
	if err := whens[0].condition.eval(st, r, t); err != nil {
		return err
	}
	taken := st.takeSubset(r, t, 1<<isTrue)
	defer st.drop(0, 0, 1)
	if taken.rows.n == r.n { // sel, not the subset's own numbers
		return st.putValue(whens[0].then, r, sel, out)
	}
	if taken.rows.n == 0 {
		return c.from(st, r, sel, out, whens[1:])
	}
	taken.renumber(sel)
	if err := st.putValue(whens[0].then, taken.rows, taken.sel, out); err != nil {
		return err
	}
	left := st.takeSubset(r, t, 1<<isFalse|1<<isUnknown)
	defer st.drop(0, 0, 1)
	left.renumber(sel)
	return c.from(st, left.rows, left.sel, out, whens[1:])
}

// renumber makes the subset's numbers, which count in a subset whose own
// numbers are sel, those of what sel counts in; nil: the same.
func (s *subset) renumber(sel []uint32) {
	if sel == nil {
		return
	}
	for j, i := range s.sel {
		s.sel[j] = sel[i]
	}
}

// putValue evaluates v for the rows r and writes it to the rows sel of out.
func (st *stream) putValue(v value, r *rows, sel []uint32, out *vector) error {
	if sel == nil {
		return v.eval(st, r, out)
	}
	got := st.takeVector()
	defer st.drop(1, 0, 0)
	if err := v.eval(st, r, got); err != nil {
		return err
	}
	out.put(sel, got)
	return nil
}

// coalesce is the first argument that is not NULL. Each is evaluated for the
// rows for which those before it are NULL.
type coalesce struct{ args []value }

func (c *coalesce) eval(st *stream, r *rows, out *vector) error {
	if err := c.args[0].eval(st, r, out); err != nil {
		return err
	}
	for _, a := range c.args[1:] {
		if !out.nullable {
			return nil
		}
		if out.all {
			if err := a.eval(st, r, out); err != nil {
				return err
			}
			continue
		}
		if err := c.fill(st, r, out, a); err != nil {
			return err
		}
	}
	return nil
}

// fill sets the NULLs of out to the values of a.
func (c *coalesce) fill(st *stream, r *rows, out *vector, a value) error {
	missing := st.takeSubset(r, out.nulls[:out.n], 1<<1)
	defer st.drop(0, 0, 1)
	if missing.rows.n == 0 {
		out.nullable = false
		return nil
	}
	return st.putValue(a, missing.rows, missing.sel, out)
}
