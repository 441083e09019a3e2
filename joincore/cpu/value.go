package cpu

import (
	"fmt"

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
		return &truthValue{arg: compile(v.Arg, parameters).condition}
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
		return st.fetchText(out, col, s, r.n)
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

// inPlace returns the values as they lie in memory, where that is possible.
func (c *columnValue) inPlace(st *stream, r *rows) []uint64 {
	col, s := r.locate(c.ref, st.dev.inputs)
	return col.inPlace(s, r.n)
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

// notDecimal is stored for a value that is no mantissa.
const notDecimal = 1 << 63

func (c *decimalValue) eval(st *stream, r *rows, out *vector) error {
	if err := c.columnValue.eval(st, r, out); err != nil {
		return err
	}
	for _, x := range out.lo[:out.n] { // 0 where it is NULL
		if uint64(x) == notDecimal {
			return joincore.ErrArithmetic
		}
	}
	return nil
}

// truthValue is a condition as an integer.
type truthValue struct{ arg condition }

func (c *truthValue) eval(st *stream, r *rows, out *vector) error {
	t := st.takeTruth()
	defer st.drop(0, 1, 0)
	if err := c.arg.eval(st, r, t); err != nil {
		return err
	}
	out.ints(r.n)
	var some uint8
	for i := range r.n {
		x := t.of(i)
		out.lo[i] = int64(x >> 1)
		out.nulls[i] = x & 1
		some |= x & 1
	}
	out.nullable = some != 0
	return nil
}

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
		out.whens = append(out.whens, when{compile(w.Condition, parameters).condition, compileValue(w.Then, parameters)})
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
	t := st.takeTruth()
	defer st.drop(0, 1, 0)
	if err := whens[0].condition.eval(st, r, t); err != nil {
		return err
	}
	taken := st.takeSubset(r, t.yes)
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
	for w, yes := range t.yes {
		t.yes[w] = ^yes
	}
	left := st.takeSubset(r, t.yes)
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
	t := st.takeTruth()
	packBits(t.yes, out.nulls[:out.n])
	missing := st.takeSubset(r, t.yes)
	defer st.drop(0, 1, 1)
	if missing.rows.n == 0 {
		out.nullable = false
		return nil
	}
	return st.putValue(a, missing.rows, missing.sel, out)
}

// datePart is a field of a date.
type datePart struct {
	part joincore.DateField
	arg  value
}

func (c *datePart) eval(st *stream, r *rows, out *vector) error {
	if err := c.arg.eval(st, r, out); err != nil {
		return err
	}
	if !out.narrow() {
		return joincore.ErrArithmetic
	}
	lo := out.lo[:out.n]
	for _, day := range lo { // 0 where it is NULL
		if day < joincore.FirstDate || day > joincore.LastDate {
			return joincore.ErrArithmetic
		}
	}
	switch c.part {
	case joincore.Year:
		for i, day := range lo {
			year, _, _ := civil(day)
			lo[i] = year
		}
	case joincore.Month:
		for i, day := range lo {
			_, month, _ := civil(day)
			lo[i] = month
		}
	default:
		for i, day := range lo {
			_, _, dayOfMonth := civil(day)
			lo[i] = dayOfMonth
		}
	}
	out.canonical()
	return nil
}

// civil returns the year (there is none 0), month and day of a date. It counts
// days from March 1 of the year -4800, so that leap days end years and all
// divisions are unsigned (Hinnant, chrono-compatible low-level date
// algorithms).
func civil(day int64) (year, month, dayOfMonth int64) {
	const (
		period = 146_097                      // days of 400 years
		start  = 719_468 + 10_957 + 12*period // from that March 1 to 2000-01-01
	)
	z := uint32(day + start)
	era := z / period
	doe := z - era*period
	yoe := (doe - doe/1460 + doe/36_524 - doe/146_096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	dayOfMonth = int64(doy - (153*mp+2)/5 + 1)
	year = int64(yoe) + 400*int64(era) - 4800
	month = int64(mp) + 3
	if month > 12 {
		month -= 12
		year++
	}
	if year <= 0 {
		year--
	}
	return year, month, dayOfMonth
}
