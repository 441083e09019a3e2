package cpu

import (
	"bytes"
	"cmp"

	"gpujoin/joincore"
)

// compare compares two integers or two strings of bytes.
type compare struct {
	op          comparison
	left, right value
}

// comparison is a comparison made of two: whether to compare for equal, less,
// or less or equal, and whether the result is the opposite.
type comparison struct {
	op   joincore.CompareOp // Equal, Less or LessEqual
	flip uint8              // isTrue: the opposite
}

func comparisonOf(op joincore.CompareOp) comparison {
	switch op {
	case joincore.NotEqual:
		return comparison{joincore.Equal, isTrue}
	case joincore.GreaterEqual:
		return comparison{joincore.Less, isTrue}
	case joincore.Greater:
		return comparison{joincore.LessEqual, isTrue}
	}
	return comparison{op, 0}
}

// newCompare puts a constant on the right.
func newCompare(op joincore.CompareOp, left, right value) *compare {
	if _, ok := left.(*constant); ok {
		op, left, right = op.Mirrored(), right, left
	}
	return &compare{comparisonOf(op), left, right}
}

func (c *compare) eval(st *stream, r *rows, out []uint8) error {
	if c.compareColumn(st, r, out) {
		return nil
	}
	a := st.takeVector()
	defer st.drop(1, 0, 0)
	if err := c.left.eval(st, r, a); err != nil {
		return err
	}
	if k, ok := c.right.(*constant); ok && !k.null && !a.all && !a.wide {
		if a.text {
			compareTextConstant(c.op, a.bytes[:a.n], k.bytes, out)
		} else {
			compareConstant(c.op, a.lo[:a.n], k.n, out)
		}
		unknownWhereNull(out, a)
		return nil
	}
	b := st.takeVector()
	defer st.drop(1, 0, 0)
	if err := c.right.eval(st, r, b); err != nil {
		return err
	}
	switch {
	case a.all || b.all:
		setTruth(out, isUnknown)
		return nil
	case a.text:
		compareTexts(c.op, a.bytes[:a.n], b.bytes[:a.n], out)
	case a.wide || b.wide:
		compareWide(c.op, a, b, out)
	default:
		compareVectors(c.op, a.lo[:a.n], b.lo[:a.n], out)
	}
	unknownWhereNull(out, a)
	unknownWhereNull(out, b)
	return nil
}

// bit is 1 for true. The compiler makes it one instruction without a branch.
func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func compareConstant[T signedWord](c comparison, x []T, y T, out []uint8) {
	out = out[:len(x)]
	switch c.op {
	case joincore.Equal:
		for i, a := range x {
			out[i] = bit(a == y)<<1 ^ c.flip
		}
	case joincore.Less:
		for i, a := range x {
			out[i] = bit(a < y)<<1 ^ c.flip
		}
	default:
		for i, a := range x {
			out[i] = bit(a <= y)<<1 ^ c.flip
		}
	}
}

func compareVectors(c comparison, x, y []int64, out []uint8) {
	y, out = y[:len(x)], out[:len(x)]
	switch c.op {
	case joincore.Equal:
		for i, a := range x {
			out[i] = bit(a == y[i])<<1 ^ c.flip
		}
	case joincore.Less:
		for i, a := range x {
			out[i] = bit(a < y[i])<<1 ^ c.flip
		}
	default:
		for i, a := range x {
			out[i] = bit(a <= y[i])<<1 ^ c.flip
		}
	}
}

// of returns the truth of a comparison whose sides are ordered as in cmp.
func (c comparison) of(order int) uint8 {
	switch c.op {
	case joincore.Equal:
		return bit(order == 0)<<1 ^ c.flip
	case joincore.Less:
		return bit(order < 0)<<1 ^ c.flip
	}
	return bit(order <= 0)<<1 ^ c.flip
}

func compareWide(c comparison, a, b *vector, out []uint8) {
	a.widen()
	b.widen()
	for i := range out {
		order := cmp.Compare(a.hi[i], b.hi[i])
		if order == 0 {
			order = cmp.Compare(uint64(a.lo[i]), uint64(b.lo[i]))
		}
		out[i] = c.of(order)
	}
}

func compareTexts(c comparison, x, y [][]byte, out []uint8) {
	if c.op == joincore.Equal {
		for i, a := range x {
			out[i] = bit(bytes.Equal(a, y[i]))<<1 ^ c.flip
		}
		return
	}
	for i, a := range x {
		out[i] = c.of(bytes.Compare(a, y[i]))
	}
}

func compareTextConstant(c comparison, x [][]byte, y []byte, out []uint8) {
	if c.op == joincore.Equal {
		for i, a := range x {
			out[i] = bit(bytes.Equal(a, y))<<1 ^ c.flip
		}
		return
	}
	for i, a := range x {
		out[i] = c.of(bytes.Compare(a, y))
	}
}

// compareColumn compares a column with a constant in its stored width. It returns false
// if the rows are not contiguous or the constant needs more bytes than the column has.
func (c *compare) compareColumn(st *stream, r *rows, out []uint8) bool {
	left, ok := c.left.(*columnValue)
	right, isConstant := c.right.(*constant)
	if !ok || !isConstant || right.null || right.text {
		return false
	}
	col, s := r.locate(left.ref, st.dev.inputs)
	if col == nil || col.kind != joincore.Fixed || !isWord(col.width) || s.pos != nil || s.null {
		return false
	}
	if unused := 64 - 8*col.width; right.n<<unused>>unused != right.n {
		return false
	}
	segment, from := s.segment(), int(s.first&s.space.mask())
	switch end := from + r.n; col.width {
	case 1:
		compareConstant(c.op, view[int8](col.v8[segment][from:end]), int8(right.n), out)
	case 2:
		compareConstant(c.op, view[int16](col.v16[segment][from:end]), int16(right.n), out)
	case 4:
		compareConstant(c.op, view[int32](col.v32[segment][from:end]), int32(right.n), out)
	default:
		compareConstant(c.op, view[int64](col.v64[segment][from:end]), int64(right.n), out)
	}
	if col.nullable() {
		v := st.takeVector()
		defer st.drop(1, 0, 0)
		v.ints(r.n)
		fetchNullsOf(v, col, s)
		unknownWhereNull(out, v)
	}
	return true
}
