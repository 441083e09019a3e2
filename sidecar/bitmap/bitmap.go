// Package bitmap copies and tests bits at any position of bitmaps, least significant bit first, as
// vectors have them for their NULLs.
package bitmap

import "encoding/binary"

// Word returns 64 bits of a bitmap from any bit on; those beyond its end are 0.
func Word(bits []byte, at int) uint64 {
	bits = bits[at/8:]
	if len(bits) >= 9 {
		shift := at % 8
		return binary.LittleEndian.Uint64(bits)>>shift | uint64(bits[8])<<(64-shift)
	}
	var padded [16]byte
	copy(padded[:], bits)
	shift := at % 8
	return binary.LittleEndian.Uint64(padded[:])>>shift | uint64(padded[8])<<(64-shift)
}

// AllSet reports whether n bits from a bit on are all 1.
func AllSet(bits []byte, at, n int) bool {
	for ; n >= 64; at, n = at+64, n-64 {
		if Word(bits, at) != ^uint64(0) {
			return false
		}
	}
	mask := uint64(1)<<n - 1
	return n == 0 || Word(bits, at)&mask == mask
}

// Copy copies n bits between any positions of two bitmaps. The bits of `to` behind them
// become 0 up to the end of their byte.
func Copy(to []byte, toAt int, from []byte, fromAt, n int) {
	for n > 0 {
		shift := toAt % 8
		count := min(n, 64-shift)
		put(to[toAt/8:], shift, count, Word(from, fromAt))
		toAt, fromAt, n = toAt+count, fromAt+count, n-count
	}
}

// Set sets n bits from a bit on; those behind them become 0 up to the end of their byte.
func Set(to []byte, at, n int) {
	for n > 0 {
		shift := at % 8
		count := min(n, 64-shift)
		put(to[at/8:], shift, count, ^uint64(0))
		at, n = at+count, n-count
	}
}

// put writes count bits, at most 64-shift, behind the first shift bits of a bitmap, which it
// keeps.
func put(to []byte, shift, count int, bits uint64) {
	if count < 64 {
		bits &= 1<<count - 1
	}
	bits <<= shift
	bits |= uint64(to[0]) & (1<<shift - 1)
	for i := range (shift + count + 7) / 8 {
		to[i] = byte(bits >> (8 * i))
	}
}
