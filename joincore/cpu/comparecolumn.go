package cpu

import "gpujoin/joincore"

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
		compareStored(c.op, col.v8[segment][from:end], uint8(right.n), out)
	case 2:
		compareStored(c.op, col.v16[segment][from:end], uint16(right.n), out)
	case 4:
		compareStored(c.op, col.v32[segment][from:end], uint32(right.n), out)
	default:
		compareStored(c.op, col.v64[segment][from:end], uint64(right.n), out)
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

// compareStored compares signed integers, which it reads as unsigned ones: with
// the sign inverted, these have the same order.
func compareStored[T word](c comparison, x []T, y T, out []uint8) {
	out = out[:len(x)]
	sign := ^(^T(0) >> 1)
	y ^= sign
	switch c.op {
	case joincore.Equal:
		for i, a := range x {
			out[i] = bit(a^sign == y)<<1 ^ c.flip
		}
	case joincore.Less:
		for i, a := range x {
			out[i] = bit(a^sign < y)<<1 ^ c.flip
		}
	default:
		for i, a := range x {
			out[i] = bit(a^sign <= y)<<1 ^ c.flip
		}
	}
}
