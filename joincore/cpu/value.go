package cpu

import (
	"fmt"
	"math"

	"gpujoin/joincore"
)

// value is a compiled expression. It holds no vectors and all streams share it:
// those it works with are registers of the stream that evaluates it.
type value interface {
	// eval writes the value of each row of r to out. An expression is only
	// evaluated for the rows for which SQL would: an error is one of SQL's.
	eval(st *stream, r *rows, out *vector) error
}

// expressionKey says which expression was compiled, with which parameters.
type expressionKey struct {
	expression any // a Value or an Expr
	parameters *joincore.Parameter
}

func expressionKeyOf(expression any, parameters []joincore.Parameter) expressionKey {
	key := expressionKey{expression: expression}
	if len(parameters) > 0 {
		key.parameters = &parameters[0]
	}
	return key
}

// value compiles an expression, once for all streams. The expression is valid.
func (d *dev) value(v joincore.Value, parameters []joincore.Parameter) value {
	d.lock.Lock()
	defer d.lock.Unlock()
	return compiled(d, expressionKeyOf(v, parameters), func() value { return compileValue(v, parameters) })
}

// compiled returns what compile returned for a key first. d's lock is held.
func compiled[T any](d *dev, key expressionKey, compile func() T) T {
	if c, ok := d.compiled[key].(T); ok {
		return c
	}
	if d.compiled == nil {
		d.compiled = map[expressionKey]any{}
	}
	c := compile()
	d.compiled[key] = c
	return c
}

func compileValue(v joincore.Value, parameters []joincore.Parameter) value {
	switch v := v.(type) {
	case joincore.ColumnRef:
		return &columnValue{ref: v}
	case joincore.Decimal:
		return &decimalValue{columnValue{ref: v.Column}}
	case joincore.Int:
		return &constant{n: int64(v)}
	case joincore.ParameterIndex:
		return &constant{n: parameters[v].Int, null: parameters[v].Null}
	case joincore.Null:
		return &constant{null: true}
	case *joincore.Text:
		return &constant{text: true, bytes: v.Bytes}
	case *joincore.Arithmetic:
		return &arithmetic{
			op: v.Op, width: v.Width,
			left: compileValue(v.Left, parameters), right: compileValue(v.Right, parameters),
		}
	case *joincore.Case:
		return compileCase(v, parameters)
	case *joincore.Coalesce:
		c := &coalesce{}
		for _, a := range v.Args {
			c.args = append(c.args, compileValue(a, parameters))
		}
		return c
	case *joincore.DatePart:
		return &datePart{part: v.Part, arg: compileValue(v.Arg, parameters)}
	case *joincore.Substring:
		return newSubstring(v, compileValue(v.Arg, parameters))
	case *joincore.Truth:
		return &truthValue{arg: compile(v.Arg, parameters)}
	}
	panic(fmt.Sprintf("value %T", v))
}

// constant is the same value in every row.
type constant struct {
	n     int64
	bytes []byte
	text  bool
	null  bool
}

func (c *constant) eval(_ *stream, r *rows, out *vector) error {
	switch {
	case c.null:
		out.allNull(r.n)
	case c.text:
		to := out.strings(r.n)
		for i := range to {
			to[i] = c.bytes
		}
	default:
		out.ints(r.n)
		to := out.lo[:r.n]
		for i := range to {
			to[i] = c.n
		}
	}
	return nil
}

// columnValue reads a column.
type columnValue struct{ ref joincore.ColumnRef }

func (c *columnValue) eval(st *stream, r *rows, out *vector) error {
	col, s := r.locate(c.ref, st.dev.inputs)
	if col == nil {
		out.allNull(r.n)
		return nil
	}
	if col.kind == joincore.Varlena {
		return fetchText(out, col, s, r.n)
	}
	out.ints(r.n)
	fetchNullsOf(out, col, s)
	if col.width == 16 {
		fetchWideInts(out, col, s)
	} else {
		st.fetchInts(view[uint64](out.lo[:r.n]), col, s)
	}
	out.canonical()
	out.narrow()
	return nil
}

// fetchNullsOf sets which of out's rows are NULL.
func fetchNullsOf(out *vector, c *column, s *slot) {
	if !c.nullable() && !s.null {
		return
	}
	clear(out.nulls[:out.n])
	out.nullable = fetchNulls(out.nulls[:out.n], c, s)
}

// fetchWideInts reads a column of width 16.
func fetchWideInts(out *vector, c *column, s *slot) {
	out.wide = true
	lo, hi := out.lo[:out.n], out.highs()
	for i := range lo {
		segment, row, ok := s.at(i)
		lo[i], hi[i] = 0, 0
		if ok {
			words := c.v64[segment][2*int(row) : 2*int(row)+2]
			lo[i], hi[i] = int64(words[0]), int64(words[1])
		}
	}
}

// decimalValue reads a column of mantissas.
type decimalValue struct{ columnValue }

func (c *decimalValue) eval(st *stream, r *rows, out *vector) error {
	if err := c.columnValue.eval(st, r, out); err != nil {
		return err
	}
	for _, x := range out.lo[:out.n] { // 0 where it is NULL
		if x == math.MinInt64 {
			return joincore.ErrArithmetic
		}
	}
	return nil
}

// fetchText reads a column of variable length.
func fetchText(out *vector, c *column, s *slot, n int) error {
	to := out.strings(n)
	fetchNullsOf(out, c, s)
	for i := range to {
		if out.null(i) {
			to[i] = nil
			continue
		}
		segment, row, _ := s.at(i)
		var err error
		if to[i], err = joincore.TextPayload(c.varlena(segment, row)); err != nil {
			return err
		}
	}
	return nil
}

// truthValue is a condition as an integer.
type truthValue struct{ arg condition }

func (c *truthValue) eval(st *stream, r *rows, out *vector) error {
	t := st.takeTruth(r.n)
	defer st.drop(0, 1, 0)
	if err := c.arg.eval(st, r, t); err != nil {
		return err
	}
	out.ints(r.n)
	var some uint8
	for i, x := range t {
		out.lo[i] = int64(x >> 1)
		out.nulls[i] = x & 1
		some |= x & 1
	}
	out.nullable = some != 0
	return nil
}
