package cpu

import (
	"encoding/binary"
	"math/bits"
)

// mix is a bijection of 64 bits whose upper bits depend on all bits of its
// argument. Radix partitions use the highest bits and the tables of a join the bits
// below, so the two are independent.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0x9fb21c651e98df25
	x ^= x >> 29
	x *= 0xd6e8feb86659fd93
	return x
}

// slotOf returns the entry at which the search for a group begins, in a table of
// 1<<(64-shift) entries. A table of groups grows with them, and it may meet them in the
// order of the highest bits of their hash: as a partitioned join or another aggregation
// returns them. The slot must not depend on those bits alone, else all groups so far share
// a part of the table. Multiples of the golden ratio spread any range of hashes evenly.
func slotOf(hash uint64, shift uint) uint64 { return hash * goldenRatio >> (shift & 63) }

// goldenRatio is the fraction of the golden ratio, times 1<<64.
const goldenRatio = 0x9e3779b97f4a7c15

// fold mixes one more word into a hash.
func fold(h, w uint64) uint64 {
	hi, lo := bits.Mul64(h^w^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
	return hi ^ lo ^ h>>17
}

// hashBytes hashes a value of any length into h.
func hashBytes(h uint64, b []byte) uint64 {
	n := len(b)
	for ; len(b) >= 8; b = b[8:] {
		h = fold(h, binary.LittleEndian.Uint64(b))
	}
	var last uint64
	for i, x := range b {
		last |= uint64(x) << (8 * i)
	}
	return fold(fold(h, last), uint64(n))
}
