//go:build amd64 || arm64

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

// condition is a compiled predicate over the rows of a chunk.
type condition interface {
	// eval writes the truth of each row.
	eval(r *rows, out []uint8)
}

// and lowers truth to the condition's.
func (st *stream) and(c condition, r *rows, truth []uint8) {
	v := st.truth[:len(truth)]
	c.eval(r, v)
	for i, x := range v {
		truth[i] = min(truth[i], x)
	}
}

type filter struct {
	st   *stream
	cond condition
	sel  []uint32
	out  *rows
	v    []uint8
}

func (st *stream) NewFilter(e joincore.Expr, parameters []joincore.Parameter) device.Filter {
	n := st.dev.chunk
	return &filter{st: st, cond: st.condition(e, parameters), sel: make([]uint32, n), out: newRows(n), v: make([]uint8, n)}
}

func (f *filter) Apply(r device.Rows) (device.Rows, device.Count, error) {
	in := r.(*rows)
	v := f.v[:in.n]
	f.cond.eval(in, v)
	m := 0
	for i, x := range v {
		f.sel[m] = uint32(i)
		m += int(x >> 1)
	}
	if m == in.n {
		return in, device.Known(int64(m)), nil
	}
	f.out.take(in, f.sel[:m], m)
	return f.out, device.Known(int64(m)), nil
}

// condition compiles an expression.
func (st *stream) condition(e joincore.Expr, parameters []joincore.Parameter) condition {
	n := st.dev.chunk
	switch e := e.(type) {
	case *joincore.And:
		return &logic{args: st.conditions(e.Args, parameters), all: true, v: make([]uint8, n)}
	case *joincore.Or:
		return &logic{args: st.conditions(e.Args, parameters), v: make([]uint8, n)}
	case *joincore.Not:
		return &not{arg: st.condition(e.Arg, parameters)}
	case *joincore.IsNull:
		return &isNull{st: st, column: e.Column}
	case *joincore.Compare:
		return &compare{
			st: st, op: e.Op, null: make([]uint8, n),
			left: st.operand(e.Left, parameters), right: st.operand(e.Right, parameters),
		}
	}
	panic(fmt.Sprintf("expression %T", e))
}

func (st *stream) conditions(args []joincore.Expr, parameters []joincore.Parameter) []condition {
	out := make([]condition, len(args))
	for i, a := range args {
		out[i] = st.condition(a, parameters)
	}
	return out
}

type logic struct {
	args []condition
	all  bool
	v    []uint8
}

func (c *logic) eval(r *rows, out []uint8) {
	for i := range out {
		out[i] = isFalse
		if c.all {
			out[i] = isTrue
		}
	}
	v := c.v[:len(out)]
	for _, a := range c.args {
		a.eval(r, v)
		for i, x := range v {
			if c.all {
				out[i] = min(out[i], x)
			} else {
				out[i] = max(out[i], x)
			}
		}
	}
}

type not struct{ arg condition }

func (c *not) eval(r *rows, out []uint8) {
	c.arg.eval(r, out)
	for i, x := range out {
		out[i] = isTrue - x
	}
}

type isNull struct {
	st     *stream
	column joincore.ColumnRef
}

func (c *isNull) eval(r *rows, out []uint8) {
	clear(out)
	col, s := r.locate(c.column, c.st.dev.inputs)
	if col != nil {
		fetchNulls(out, col, s)
	}
	for i, x := range out {
		out[i] = x * isTrue
		if col == nil {
			out[i] = isTrue
		}
	}
}

// operand is one side of a comparison, a chunk at a time.
type operand struct {
	column   *joincore.ColumnRef
	constant joincore.Parameter
	v        []uint64
}

func (st *stream) operand(x joincore.Operand, parameters []joincore.Parameter) *operand {
	o := &operand{v: make([]uint64, st.dev.chunk)}
	switch x := x.(type) {
	case joincore.ColumnRef:
		o.column = &x
	case joincore.Int:
		o.constant.Int = int64(x)
	case joincore.ParameterIndex:
		o.constant = parameters[x]
	default:
		panic(fmt.Sprintf("operand %T", x))
	}
	return o
}

// load reads the operand of each row and sets null where it is NULL.
func (o *operand) load(st *stream, r *rows, null []uint8) []uint64 {
	v := o.v[:len(null)]
	isConstantNull := o.column == nil && o.constant.Null
	if o.column != nil {
		if c, s := r.locate(*o.column, st.dev.inputs); c != nil {
			st.fetchInts(v, c, s)
			fetchNulls(null, c, s)
			return v
		}
		isConstantNull = true
	}
	for i := range v {
		v[i] = uint64(o.constant.Int)
		if isConstantNull {
			null[i] = 1
		}
	}
	return v
}

type compare struct {
	st          *stream
	op          joincore.CompareOp
	left, right *operand
	null        []uint8
}

func (c *compare) eval(r *rows, out []uint8) {
	null := c.null[:len(out)]
	clear(null)
	a, b := c.left.load(c.st, r, null), c.right.load(c.st, r, null)
	for i := range out {
		out[i] = isFalse
		if null[i] != 0 {
			out[i] = isUnknown
		} else if compareInts(c.op, int64(a[i]), int64(b[i])) {
			out[i] = isTrue
		}
	}
}

func compareInts(op joincore.CompareOp, a, b int64) bool {
	switch op {
	case joincore.Equal:
		return a == b
	case joincore.NotEqual:
		return a != b
	case joincore.Less:
		return a < b
	case joincore.LessEqual:
		return a <= b
	case joincore.Greater:
		return a > b
	case joincore.GreaterEqual:
		return a >= b
	}
	panic(fmt.Sprintf("comparison %d", op))
}
