package cpu

import (
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// SQL's truth values; AND is the least and OR the greatest of its arguments.
const (
	isFalse uint8 = iota
	isUnknown
	isTrue
)

// condition is a compiled predicate. As a value, it holds no vectors and all
// streams share it.
type condition interface {
	// eval writes the truth of each row of r to out.
	eval(st *stream, r *rows, out []uint8) error
}

// condition compiles an expression, once for all streams. The expression is
// valid.
func (d *dev) condition(e joincore.Expr, parameters []joincore.Parameter) condition {
	d.lock.Lock()
	defer d.lock.Unlock()
	return compiled(d, expressionKeyOf(e, parameters), func() condition { return compile(e, parameters) })
}

func compile(e joincore.Expr, parameters []joincore.Parameter) condition {
	switch e := e.(type) {
	case *joincore.And:
		return newLogic(compileAll(e.Args, parameters), true)
	case *joincore.Or:
		return newLogic(compileAll(e.Args, parameters), false)
	case *joincore.Not:
		return &not{arg: compile(e.Arg, parameters)}
	case *joincore.IsNull:
		if c, ok := e.Arg.(joincore.ColumnRef); ok {
			return &isNullColumn{column: c}
		}
		return &isNull{arg: compileValue(e.Arg, parameters)}
	case *joincore.Compare:
		return newCompare(e.Op, compileValue(e.Left, parameters), compileValue(e.Right, parameters))
	case *joincore.In:
		return newIn(e, compileValue(e.Arg, parameters))
	case *joincore.Like:
		return newLike(e, compileValue(e.Arg, parameters))
	}
	panic(fmt.Sprintf("condition %T", e))
}

func compileAll(args []joincore.Expr, parameters []joincore.Parameter) []term {
	out := make([]term, len(args))
	for i, a := range args {
		out[i] = term{compile(a, parameters), joincore.CanFail(a)}
	}
	return out
}

// setTruth writes the same truth to all rows.
func setTruth(out []uint8, t uint8) {
	for i := range out {
		out[i] = t
	}
}

// unknownWhereNull makes the rows unknown where v is NULL.
func unknownWhereNull(out []uint8, v *vector) {
	if !v.nullable {
		return
	}
	nulls := v.nulls[:len(out)]
	for i, null := range nulls {
		out[i] = out[i]&(null-1) | null
	}
}

type not struct{ arg condition }

func (c *not) eval(st *stream, r *rows, out []uint8) error {
	if err := c.arg.eval(st, r, out); err != nil {
		return err
	}
	for i, x := range out {
		out[i] = isTrue - x
	}
	return nil
}

// isNullColumn reads no more than the validity of a column of any type.
type isNullColumn struct{ column joincore.ColumnRef }

func (c *isNullColumn) eval(st *stream, r *rows, out []uint8) error {
	col, s := r.locate(c.column, st.dev.inputs)
	if col == nil {
		setTruth(out, isTrue)
		return nil
	}
	clear(out)
	if fetchNulls(out, col, s) {
		for i, x := range out {
			out[i] = x * isTrue
		}
	}
	return nil
}

type isNull struct{ arg value }

func (c *isNull) eval(st *stream, r *rows, out []uint8) error {
	v := st.takeVector()
	defer st.drop(1, 0, 0)
	if err := c.arg.eval(st, r, v); err != nil {
		return err
	}
	clear(out)
	if v.nullable {
		for i, x := range v.nulls[:v.n] {
			out[i] = x * isTrue
		}
	}
	return nil
}

type filter struct {
	st   *stream
	cond condition
	out  *rows
}

func (st *stream) NewFilter(e joincore.Expr, parameters []joincore.Parameter) device.Filter {
	return &filter{st: st, cond: st.dev.condition(e, parameters), out: newRows(st.dev.chunk)}
}

// Apply returns the rows that pass. The error is ErrArithmetic where the
// condition has one.
func (f *filter) Apply(r device.Rows) (device.Rows, device.Count, error) {
	in, st := r.(*rows), f.st
	v := st.takeTruth(in.n)
	defer st.drop(0, 1, 0)
	if err := f.cond.eval(st, in, v); err != nil {
		return nil, device.Known(int64(0)), err
	}
	m := selectTruths(st.sel, v, 1<<isTrue)
	if m == in.n {
		return in, device.Known(int64(m)), nil
	}
	f.out.take(in, st.sel[:m], m)
	return f.out, device.Known(int64(m)), nil
}
