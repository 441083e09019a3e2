//go:build amd64 || arm64

package cpu

import (
	"encoding/binary"
	"math/bits"
)

// mix is a bijection of 64 bits whose upper bits depend on all bits of its
// argument. Radix partitions use the highest bits and hash tables the bits below,
// so the two are independent.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0x9fb21c651e98df25
	x ^= x >> 29
	x *= 0xd6e8feb86659fd93
	return x
}

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
