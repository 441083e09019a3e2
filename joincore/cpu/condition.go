//go:build amd64 || arm64

package cpu

import (
	"fmt"
	"slices"

	"gpujoin/joincore"
)

// SQL's truth values: AND is the minimum and OR the maximum of its arguments.
const (
	isFalse uint8 = iota
	isUnknown
	isTrue
)

// condition is a compiled predicate. It holds no vectors, so all streams share it;
// it works in the registers and the scratch of the evaluating stream. A node with
// several arguments occupies one register: it evaluates the first argument into the
// result and each other one into the next register. The argument that needs most
// registers comes first, so a condition of n comparisons needs at most log2(n) + 1
// (Sethi and Ullman, 1970).
type condition interface {
	// eval writes the truth value of each row of r to out. It may overwrite the
	// registers from free on.
	eval(st *stream, r *rows, out []uint8, free int)
	// registers returns the number of registers that eval writes, without out.
	registers() int
}

// truth returns a register of the stream: a chunk's truth values.
func (st *stream) truth(register int) []uint8 {
	for len(st.truths) <= register {
		st.truths = append(st.truths, make([]uint8, st.dev.chunk))
	}
	return st.truths[register]
}

// conditionKey identifies a compiled expression with its parameters.
type conditionKey struct {
	expr       joincore.Expr
	parameters *joincore.Parameter
}

// condition compiles an expression once; all streams share the result.
func (d *dev) condition(e joincore.Expr, parameters []joincore.Parameter) condition {
	key := conditionKey{expr: e}
	if len(parameters) > 0 {
		key.parameters = &parameters[0]
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	c := d.conditions[key]
	if c == nil {
		c = compile(e, parameters)
		if d.conditions == nil {
			d.conditions = map[conditionKey]condition{}
		}
		d.conditions[key] = c
	}
	return c
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
		return &isNull{column: e.Arg.(joincore.ColumnRef)}
	case *joincore.Compare:
		return &compare{op: e.Op, left: newOperand(e.Left, parameters), right: newOperand(e.Right, parameters)}
	}
	panic(fmt.Sprintf("expression %T", e))
}

func compileAll(args []joincore.Expr, parameters []joincore.Parameter) []condition {
	out := make([]condition, len(args))
	for i, a := range args {
		out[i] = compile(a, parameters)
	}
	return out
}

// logic is AND or OR of its arguments.
type logic struct {
	args []condition
	all  bool // AND
	need int
}

func newLogic(args []condition, all bool) *logic {
	deepest := 0
	for i, a := range args {
		if a.registers() > args[deepest].registers() {
			deepest = i
		}
	}
	if deepest > 0 {
		first := args[deepest]
		args = slices.Insert(slices.Delete(args, deepest, deepest+1), 0, first)
	}
	c := &logic{args: args, all: all}
	for i, a := range args {
		c.need = max(c.need, a.registers()+min(i, 1))
	}
	return c
}

func (c *logic) registers() int { return c.need }

// eval stops when no further argument can change the truth of any row.
func (c *logic) eval(st *stream, r *rows, out []uint8, free int) {
	if len(c.args) == 0 {
		for i := range out {
			out[i] = isFalse
			if c.all {
				out[i] = isTrue
			}
		}
		return
	}
	c.args[0].eval(st, r, out, free)
	for _, a := range c.args[1:] {
		if c.decided(out) {
			return
		}
		v := st.truth(free)[:len(out)]
		a.eval(st, r, v, free+1)
		if c.all {
			lower(out, v)
		} else {
			raise(out, v)
		}
	}
}

// decided reports that all rows are false for AND, or true for OR.
func (c *logic) decided(out []uint8) bool {
	any, all := isFalse, isTrue
	for _, x := range out {
		any |= x
		all &= x
	}
	return c.all && any == isFalse || !c.all && all == isTrue
}

// lower sets each element of out to the minimum of it and v's.
func lower(out, v []uint8) {
	for i, x := range v {
		out[i] = min(out[i], x)
	}
}

// raise sets each element of out to the maximum of it and v's.
func raise(out, v []uint8) {
	for i, x := range v {
		out[i] = max(out[i], x)
	}
}

type not struct{ arg condition }

func (c *not) registers() int { return c.arg.registers() }

func (c *not) eval(st *stream, r *rows, out []uint8, free int) {
	c.arg.eval(st, r, out, free)
	for i, x := range out {
		out[i] = isTrue - x
	}
}

type isNull struct{ column joincore.ColumnRef }

func (c *isNull) registers() int { return 0 }

func (c *isNull) eval(st *stream, r *rows, out []uint8, _ int) {
	clear(out)
	col, s := r.locate(c.column, st.dev.inputs)
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

// operand is one side of a comparison: a column or a constant.
type operand struct {
	column   joincore.ColumnRef
	isColumn bool
	constant joincore.Parameter
}

func newOperand(x joincore.Value, parameters []joincore.Parameter) operand {
	switch x := x.(type) {
	case joincore.ColumnRef:
		return operand{column: x, isColumn: true}
	case joincore.Int:
		return operand{constant: joincore.Parameter{Int: int64(x)}}
	case joincore.ParameterIndex:
		return operand{constant: parameters[x]}
	}
	panic(fmt.Sprintf("operand %T", x))
}

// load writes each row's operand to v, and sets null for NULLs.
func (o *operand) load(st *stream, r *rows, v []uint64, null []uint8) {
	isConstantNull := !o.isColumn && o.constant.Null
	if o.isColumn {
		if c, s := r.locate(o.column, st.dev.inputs); c != nil {
			st.fetchInts(v, c, s)
			fetchNulls(null, c, s)
			return
		}
		isConstantNull = true
	}
	for i := range v {
		v[i] = uint64(o.constant.Int)
		if isConstantNull {
			null[i] = 1
		}
	}
}

type compare struct {
	op          joincore.CompareOp
	left, right operand
}

func (c *compare) registers() int { return 0 }

func (c *compare) eval(st *stream, r *rows, out []uint8, _ int) {
	n := len(out)
	a, b, null := st.first[:n], st.second[:n], st.null[:n]
	clear(null)
	c.left.load(st, r, a, null)
	c.right.load(st, r, b, null)
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
