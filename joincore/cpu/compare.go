package cpu

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"

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

// in looks values up in a list.
type in struct {
	arg     value
	ints    intSet
	texts   map[string]struct{}
	missing uint8 // the truth of a value that is not found
	empty   bool
}

func newIn(e *joincore.In, arg value) *in {
	c := &in{arg: arg, ints: newIntSet(e.Ints), texts: map[string]struct{}{}, missing: isFalse}
	for _, t := range e.Texts {
		c.texts[string(t)] = struct{}{}
	}
	if e.Null {
		c.missing = isUnknown
	}
	c.empty = len(e.Ints) == 0 && len(e.Texts) == 0 && !e.Null
	return c
}

func (c *in) eval(st *stream, r *rows, out []uint8) error {
	v := st.takeVector()
	defer st.drop(1, 0, 0)
	if err := c.arg.eval(st, r, v); err != nil {
		return err
	}
	switch {
	case c.empty:
		clear(out)
		return nil
	case v.all:
		setTruth(out, isUnknown)
		return nil
	case v.text:
		for i, b := range v.bytes[:v.n] {
			out[i] = c.missing
			if _, ok := c.texts[string(b)]; ok {
				out[i] = isTrue
			}
		}
	default:
		for i, x := range v.lo[:v.n] {
			out[i] = c.missing
			if c.ints.has(x) && (!v.wide || v.hi[i] == x>>63) {
				out[i] = isTrue
			}
		}
	}
	unknownWhereNull(out, v)
	return nil
}

// intSet is a set of integers: a bitmap where they are close to each other,
// else a hash table with linear probing, at most half full.
type intSet struct {
	first  int64
	span   uint64 // of the bitmap: bits
	bitmap []uint64
	table  []int64
	shift  uint
	zero   bool // table holds 0, which marks its free slots
}

// bitmapBits is the largest range of a bitmap: it stays in the level 1 cache.
const bitmapBits = 1 << 16

func newIntSet(list []int64) intSet {
	if len(list) == 0 {
		return intSet{}
	}
	low, high := slices.Min(list), slices.Max(list)
	s := intSet{first: low}
	if span := uint64(high) - uint64(low); span < bitmapBits {
		s.span = span + 1
		s.bitmap = make([]uint64, span/64+1)
		for _, x := range list {
			at := uint64(x) - uint64(low)
			s.bitmap[at/64] |= 1 << (at % 64)
		}
		return s
	}
	logarithm := bits.Len(uint(2*len(list) - 1))
	s.table, s.shift = make([]int64, 1<<logarithm), uint(64-logarithm)
	for _, x := range list {
		if x == 0 {
			s.zero = true
			continue
		}
		s.table[s.slot(x)] = x
	}
	return s
}

// slot returns where x is, or the free slot where it would be.
func (s *intSet) slot(x int64) int {
	at := int(uint64(x) * 0x9e3779b97f4a7c15 >> s.shift)
	for s.table[at] != x && s.table[at] != 0 {
		at = (at + 1) & (len(s.table) - 1)
	}
	return at
}

func (s *intSet) has(x int64) bool {
	if s.table == nil {
		at := uint64(x) - uint64(s.first)
		return at < s.span && s.bitmap[at/64]>>(at%64)&1 != 0
	}
	if x == 0 {
		return s.zero
	}
	return s.table[s.slot(x)] == x
}
