package suite

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"gpujoin/joincore"
)

// expressions makes random values and conditions over inputs of
// expressionColumns.
type expressions struct {
	r          *rand.Rand
	inputs     int
	parameters int
	encoding   joincore.Encoding
	integers   bool // no expression is over bytes
}

// expressionColumns are what expressions are about: integers of each width,
// decimals, dates, text, and a number of the row.
var expressionColumns = []joincore.Column{
	fixed(1), fixed(2), fixed(4), fixed(8), // small and extreme integers
	fixed(8),         // decimals, some of them no number
	fixed(4),         // dates, some of them infinite
	varlena, varlena, // text, short and long
	fixed(4), // the row's number, never NULL
}

const (
	decimalColumn = 4
	dateColumn    = 5
	textColumn    = 6
	rowColumn     = 8
)

// letters are the characters of text: of each length in UTF-8, and those that
// mean something in a pattern.
var letters = []string{"a", "b", "ab", "%", "_", `\`, "é", "€", "\U0001d11e", " "}

func (x *expressions) letters(n int) []byte {
	out := []byte{}
	for range n {
		l := letters[x.r.IntN(len(letters))]
		if x.r.IntN(3) > 0 {
			l = letters[x.r.IntN(2)]
		}
		out = append(out, l...)
	}
	return out
}

// relation makes rows of expressionColumns.
func (x *expressions) relation(rows, segmentRows int, nulls float64) *joincore.Relation {
	rel := &joincore.Relation{Columns: expressionColumns}
	for at := 0; at < rows; at += segmentRows {
		s := joincore.Segment{Rows: min(segmentRows, rows-at)}
		for c := range rel.Columns {
			some := nulls
			if c == rowColumn || x.r.IntN(3) == 0 {
				some = 0
			}
			s.Columns = append(s.Columns, x.vector(c, s.Rows, at, some))
		}
		rel.Segments = append(rel.Segments, s)
	}
	return rel
}

func (x *expressions) vector(c, rows, first int, nulls float64) joincore.Vector {
	col := expressionColumns[c]
	var v joincore.Vector
	if nulls > 0 {
		v.Validity = make([]byte, (rows+7)/8)
	}
	if col.Kind == joincore.Varlena {
		v.Values = make([]byte, 4)
	}
	for i := range rows {
		null := x.r.Float64() < nulls
		if !null && v.Validity != nil {
			v.Validity[i/8] |= 1 << (i % 8)
		}
		if col.Kind == joincore.Varlena {
			if !null {
				v.Heap = append(v.Heap, textValue(x.letters(x.r.IntN(5)*(1+5*(c-textColumn))), col.Align)...)
			}
			v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(len(v.Heap)))
			continue
		}
		n := x.integer(col.Width)
		switch {
		case null:
			n = int64(x.r.Uint64()) // must not matter
		case c == rowColumn:
			n = int64(first + i)
		case c == dateColumn:
			n = x.date()
		}
		v.Values = append(v.Values, binary.LittleEndian.AppendUint64(nil, uint64(n))[:col.Width]...)
	}
	return v
}

// textValue is text as a value of PostgreSQL: a header, the payload, padding.
// The header has one byte if the payload has an odd number of bytes, so that
// both kinds occur and equal values have equal bytes.
func textValue(payload []byte, align int) []byte {
	b := []byte{byte(len(payload)+1)<<1 | 1}
	if len(payload)%2 == 0 || len(payload) >= 127 {
		b = binary.LittleEndian.AppendUint32(nil, uint32(len(payload)+4)<<2)
	}
	b = append(b, payload...)
	for len(b)%align != 0 {
		b = append(b, 0)
	}
	return b
}

// integer draws a small integer, or sometimes one at an end of what a width
// holds.
func (x *expressions) integer(width int) int64 {
	if x.r.IntN(12) > 0 {
		return int64(x.r.IntN(15) - 7)
	}
	most := int64(math.MaxInt64) >> (64 - 8*width)
	return []int64{most, most - 1, -most, -most - 1, most / 2, int64(math.Sqrt(float64(most)))}[x.r.IntN(6)]
}

func (x *expressions) date() int64 {
	switch x.r.IntN(30) {
	case 0:
		return []int64{math.MinInt32, math.MaxInt32, joincore.FirstDate - 1, joincore.LastDate + 1}[x.r.IntN(4)]
	case 1:
		return []int64{joincore.FirstDate, joincore.LastDate, -730_120, -730_119}[x.r.IntN(4)] // about the year 1
	case 2:
		return int64(x.r.IntN(joincore.LastDate))
	}
	return int64(x.r.IntN(40_000) - 20_000)
}

func (x *expressions) column(c int) joincore.ColumnRef {
	return joincore.ColumnRef{Input: x.r.IntN(x.inputs), Column: c}
}

// number makes an integer.
func (x *expressions) number(depth int) joincore.Value {
	kind := x.r.IntN(12)
	if depth <= 0 {
		kind = x.r.IntN(5)
	}
	switch kind {
	case 0:
		return joincore.Int(x.integer([]int{1, 2, 4, 8}[x.r.IntN(4)]))
	case 1:
		if x.r.IntN(2) == 0 {
			return joincore.ParameterIndex(x.r.IntN(x.parameters))
		}
		return joincore.Null{Width: []int{1, 2, 4, 8, 16}[x.r.IntN(5)]}
	case 2:
		return joincore.Decimal{Column: x.column(decimalColumn)}
	case 3, 4:
		return x.column([]int{0, 1, 2, 3, decimalColumn, dateColumn, rowColumn}[x.r.IntN(7)])
	case 5:
		return &joincore.DatePart{Part: joincore.DateField(1 + x.r.IntN(3)), Arg: x.days(depth - 1)}
	case 6:
		return &joincore.Truth{Arg: x.condition(depth - 1)}
	case 7:
		c := &joincore.Case{Else: x.number(depth - 1)}
		for range 1 + x.r.IntN(3) {
			c.Whens = append(c.Whens, joincore.When{Condition: x.condition(depth - 1), Then: x.number(depth - 1)})
		}
		return c
	case 8:
		c := &joincore.Coalesce{}
		for range 1 + x.r.IntN(3) {
			c.Args = append(c.Args, x.number(depth-1))
		}
		return c
	}
	return &joincore.Arithmetic{
		Op: joincore.ArithmeticOp(1 + x.r.IntN(5)), Width: []int{2, 4, 8, 8, 16, 16, 16}[x.r.IntN(7)],
		Left: x.number(depth - 1), Right: x.number(depth - 1),
	}
}

// days makes what may be a date.
func (x *expressions) days(depth int) joincore.Value {
	if x.r.IntN(3) > 0 {
		return x.column(dateColumn)
	}
	return x.number(depth)
}

// text makes bytes.
func (x *expressions) text(depth int) joincore.Value {
	kind := x.r.IntN(8)
	if depth <= 0 {
		kind = x.r.IntN(4)
	}
	switch kind {
	case 0:
		if x.r.IntN(4) == 0 {
			return joincore.Null{}
		}
		return &joincore.Text{Bytes: x.letters(x.r.IntN(4))}
	case 1, 2, 3:
		return x.column(textColumn + x.r.IntN(2))
	case 4:
		c := &joincore.Case{Else: x.text(depth - 1)}
		for range 1 + x.r.IntN(2) {
			c.Whens = append(c.Whens, joincore.When{Condition: x.condition(depth - 1), Then: x.text(depth - 1)})
		}
		return c
	case 5:
		return &joincore.Coalesce{Args: []joincore.Value{x.text(depth - 1), x.text(depth - 1)}}
	}
	bound := func() int {
		if x.r.IntN(20) == 0 {
			return []int{math.MinInt32, math.MaxInt32}[x.r.IntN(2)]
		}
		return x.r.IntN(9) - 3
	}
	return &joincore.Substring{Arg: x.text(depth - 1), From: bound(), For: bound(), Characters: x.encoding}
}

// condition makes a condition.
func (x *expressions) condition(depth int) joincore.Expr {
	kind := x.r.IntN(12)
	if depth <= 0 {
		kind = x.r.IntN(7)
	}
	op := joincore.CompareOp(1 + x.r.IntN(6))
	if x.integers && (kind == 2 || kind >= 5 && kind <= 6) {
		kind = 0
	}
	switch kind {
	case 0, 1:
		return &joincore.Compare{Op: op, Left: x.number(depth - 1), Right: x.number(depth - 1)}
	case 2:
		return &joincore.Compare{Op: op, Left: x.text(depth - 1), Right: x.text(depth - 1)}
	case 3:
		if x.integers && x.r.IntN(4) == 0 {
			return &joincore.IsNull{Arg: x.column(x.r.IntN(len(expressionColumns)))}
		} else if !x.integers && x.r.IntN(2) == 0 {
			return &joincore.IsNull{Arg: x.text(depth - 1)}
		}
		return &joincore.IsNull{Arg: x.number(depth - 1)}
	case 4:
		in := &joincore.In{Arg: x.number(depth - 1), Null: x.r.IntN(4) == 0}
		for range x.r.IntN(6) {
			in.Ints = append(in.Ints, x.integer([]int{1, 1, 8}[x.r.IntN(3)]))
		}
		return in
	case 5:
		in := &joincore.In{Arg: x.text(depth - 1), Null: x.r.IntN(4) == 0}
		for range x.r.IntN(6) {
			in.Texts = append(in.Texts, x.letters(x.r.IntN(3)))
		}
		return in
	case 6:
		return &joincore.Like{Arg: x.text(depth - 1), Pattern: x.pattern(), Encoding: x.encoding}
	case 7, 8:
		return &joincore.Not{Arg: x.condition(depth - 1)}
	}
	args := make([]joincore.Expr, x.r.IntN(4))
	for i := range args {
		args[i] = x.condition(depth - 1)
	}
	if kind%2 == 0 {
		return &joincore.And{Args: args}
	}
	return &joincore.Or{Args: args}
}

// pattern makes a pattern of LIKE, of any of the forms that have a fast path.
func (x *expressions) pattern() []byte {
	p := x.letters(x.r.IntN(4))
	if x.r.IntN(2) == 0 {
		p = append([]byte("%"), p...)
	}
	if x.r.IntN(2) == 0 {
		p = append(p, "%"...)
	}
	if !joincore.ValidPattern(p) {
		p = append(p, "_"...)
	}
	return p
}
