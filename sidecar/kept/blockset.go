package kept

import (
	"encoding/binary"
	"math/bits"
)

// blockSet is a set of blocks of a chunk: bit i, least significant first, is block i.
type blockSet [ChunkBlocks / 64]uint64

// chunkOf returns the part of a group's bitmap that describes a chunk of it. Bits beyond the
// end of the bitmap, or of the group, are 0.
func chunkOf(bitmap []byte, chunk int) (s blockSet) {
	bitmap = bitmap[:min(len(bitmap), GroupBlocks/8)]
	bitmap = bitmap[min(len(bitmap), chunk*ChunkBlocks/8):]
	bitmap = bitmap[:min(len(bitmap), ChunkBlocks/8)]
	var padded [ChunkBlocks / 8]byte
	if len(bitmap) < len(padded) {
		copy(padded[:], bitmap)
		bitmap = padded[:]
	}
	for i := range s {
		s[i] = binary.LittleEndian.Uint64(bitmap[8*i:])
	}
	return s
}

// put writes the set to its place in a group's bitmap of BitmapBytes.
func (s *blockSet) put(bitmap []byte, chunk int) {
	var padded [ChunkBlocks / 8]byte
	for i, word := range s {
		binary.LittleEndian.PutUint64(padded[8*i:], word)
	}
	copy(bitmap[chunk*ChunkBlocks/8:], padded[:])
}

// firstBlocks returns the set of the blocks before n.
func firstBlocks(n int) (s blockSet) {
	for i := range s {
		switch rest := n - 64*i; {
		case rest >= 64:
			s[i] = ^uint64(0)
		case rest > 0:
			s[i] = 1<<rest - 1
		}
	}
	return s
}

func (s *blockSet) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }
func (s *blockSet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *blockSet) drop(i int)     { s[i/64] &^= 1 << (i % 64) }

func (s blockSet) and(o blockSet) blockSet {
	for i := range s {
		s[i] &= o[i]
	}
	return s
}

func (s blockSet) or(o blockSet) blockSet {
	for i := range s {
		s[i] |= o[i]
	}
	return s
}

func (s blockSet) without(o blockSet) blockSet {
	for i := range s {
		s[i] &^= o[i]
	}
	return s
}

func (s blockSet) empty() bool { return s == blockSet{} }

func (s blockSet) count() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// each calls f with the blocks of the set in order.
func (s blockSet) each(f func(i int)) {
	for w, word := range s {
		for ; word != 0; word &= word - 1 {
			f(64*w + bits.TrailingZeros64(word))
		}
	}
}
