package cpu

import (
	"math/bits"
	"slices"

	"gpujoin/joincore"
)

// newIn compiles a list. One of few integers next to each other, or of few at all, is compared
// with one after the other.
func newIn(e *joincore.In, arg value) condition {
	if len(e.Texts) > 0 {
		return &textCondition{arg: arg, test: newTextSet(e.Texts), open: e.Null}
	}
	if set, few := rangesOfList(e.Ints); few && !e.Null && len(e.Ints) > 0 {
		return newInRanges(arg, set)
	}
	return &inSet{arg: arg, ints: newIntSet(e.Ints), open: e.Null}
}

// inSet looks integers up in a list.
type inSet struct {
	arg  value
	ints intSet
	open bool // the list has NULL, which might equal a value that is not found
}

func (c *inSet) eval(st *stream, r *rows, out *truths) error {
	v := st.takeVector()
	defer st.drop(1, 0, 0)
	if err := c.arg.eval(st, r, v); err != nil {
		return err
	}
	switch {
	case c.ints.empty() && !c.open:
		out.set(isFalse)
		return nil
	case v.all || c.ints.empty():
		out.set(isUnknown)
		return nil
	case v.wide:
		maskOf(out.yes, v.n, func(i int) bool { return v.hi[i] == v.lo[i]>>63 && c.ints.has(v.lo[i]) })
	case c.ints.table == nil:
		c.ints.inBitmap(out.yes, v.lo[:v.n])
	default:
		maskOf(out.yes, v.n, func(i int) bool { return c.ints.has(v.lo[i]) })
	}
	out.unknownWhereNull(v)
	out.open(c.open)
	return nil
}

// open makes unknown what is false.
func (t *truths) open(yes bool) {
	if yes {
		for w := range t.maybe {
			t.maybe[w] = ^uint64(0)
		}
	}
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

func (s *intSet) empty() bool { return s.table == nil && s.bitmap == nil }

// inBitmap sets the bits of the integers that the bitmap has.
func (s *intSet) inBitmap(out []uint64, x []int64) {
	first, span, bitmap := uint64(s.first), s.span, s.bitmap
	for w := range out[:maskWords(len(x))] {
		var word uint64
		part := x[64*w : min(64*w+64, len(x))]
		for _, v := range part {
			at := uint64(v) - first
			inside := uint64(bit(at < span))
			at &= -inside // what is outside looks at bit 0
			word = word>>1 | (bitmap[at/64]>>(at%64)&inside)<<63
		}
		out[w] = word >> (64 - uint(len(part)))
	}
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
