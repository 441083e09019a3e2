package cpu

import (
	"math/bits"
	"slices"

	"gpujoin/joincore"
)

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
