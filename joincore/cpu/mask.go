package cpu

import (
	"math/bits"
	"unsafe"
)

// Masks have a bit for each row of a chunk, that of row i at bit i%64 of word i/64. Bits
// behind the last row are unspecified, unless a function says otherwise.
//
// Where the processor has vectors, a comparison of a column takes 0.1 to 0.2 ns a row beside
// the time of reading it. Go has no such instructions: mask_amd64.s has the loops over whole
// words, and this file their equals.

// maskWords returns the number of words of n rows.
func maskWords(n int) int { return (n + 63) / 64 }

// lastBits returns the bits of the last word that stand for rows, of n rows in all.
func lastBits(n int) uint64 { return ^uint64(0) >> (-uint(n) % 64) }

// countBits returns how many of the first n bits are set.
func countBits(mask []uint64, n int) int {
	if n == 0 {
		return 0
	}
	count, last := 0, maskWords(n)-1
	for _, w := range mask[:last] {
		count += bits.OnesCount64(w)
	}
	return count + bits.OnesCount64(mask[last]&lastBits(n))
}

// bit is 1 for true. The compiler makes it one instruction without a branch.
func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// maskOf sets the bits of n rows to what test says of each.
func maskOf(out []uint64, n int, test func(i int) bool) {
	for w := range out[:maskWords(n)] {
		var word uint64
		for i := 64 * w; i < min(64*w+64, n); i++ {
			word |= uint64(bit(test(i))) << (i % 64)
		}
		out[w] = word
	}
}

// packBits sets bits to bytes that are 0 or 1.
func packBits(out []uint64, bytes []uint8) {
	maskOf(out, len(bytes), func(i int) bool { return bytes[i] != 0 })
}

// pad is the space behind the rows in memory that expand writes to.
const pad = 8

// expand writes first plus the numbers of the rows among the first n whose bits are set, and
// returns how many these are. It clears the bits behind them. out is as long as n + pad.
func expand(out []uint32, mask []uint64, n int, first uint32) int {
	if n == 0 {
		return 0
	}
	words := maskWords(n)
	mask, out = mask[:words], out[:n+pad]
	mask[words-1] &= lastBits(n)
	if canMask {
		return expandWords(&out[0], &mask[0], words, first, &setBits)
	}
	m := 0
	for w, word := range mask {
		for at := first + uint32(64*w); word != 0; word &= word - 1 {
			out[m] = at + uint32(bits.TrailingZeros64(word))
			m++
		}
	}
	return m
}

// setBits has, for each byte, the numbers of its bits that are set, a byte each.
var setBits = func() (table [256]uint64) {
	for b := range table {
		n := 0
		for i := range 8 {
			if b>>i&1 != 0 {
				table[b] |= uint64(i) << (8 * n)
				n++
			}
		}
	}
	return table
}()

// storedWord is an integer as columns of the usual widths store it.
type storedWord interface{ uint32 | uint64 }

// outsideRange sets the bits of the integers outside of [low, high], as signed ones.
func outsideRange[T storedWord](out []uint64, x []T, low, high T) {
	span := high - low
	done := 0
	if whole := len(x) / 64; whole > 0 && canMask {
		sign := T(1) << (8*unsafe.Sizeof(low) - 1)
		base, top := low+sign, span^sign // x - low <= span, unsigned, is x - base <= top, signed
		switch x := any(x).(type) {
		case []uint32:
			outsideRange32(&x[0], &out[:whole][0], whole, uint32(base), int32(top))
		case []uint64:
			outsideRange64(&x[0], &out[:whole][0], whole, uint64(base), int64(top))
		}
		done = whole
	}
	for rest := x[64*done:]; len(rest) > 0; done++ {
		n := min(len(rest), 64)
		var word uint64
		for _, v := range rest[:n] {
			word = word>>1 | uint64(bit(v-low > span))<<63
		}
		out[done] = word >> (64 - n)
		rest = rest[n:]
	}
}

// lessColumns sets the bits of the rows with a < b, as signed integers.
func lessColumns[T storedWord](out []uint64, a, b []T) {
	done, b := 0, b[:len(a)]
	if whole := len(a) / 64; whole > 0 && canMask {
		switch a := any(a).(type) {
		case []uint32:
			lessColumns32(&a[0], &any(b).([]uint32)[0], &out[:whole][0], whole)
		case []uint64:
			lessColumns64(&a[0], &any(b).([]uint64)[0], &out[:whole][0], whole)
		}
		done = whole
	}
	sign := T(1) << (8*unsafe.Sizeof(*new(T)) - 1)
	maskOf(out[done:], len(a)-64*done, func(i int) bool { return a[64*done+i]^sign < b[64*done+i]^sign })
}

// equalColumns sets the bits of the rows with equal integers.
func equalColumns[T storedWord](out []uint64, a, b []T) {
	done, b := 0, b[:len(a)]
	if whole := len(a) / 64; whole > 0 && canMask {
		switch a := any(a).(type) {
		case []uint32:
			equalColumns32(&a[0], &any(b).([]uint32)[0], &out[:whole][0], whole)
		case []uint64:
			equalColumns64(&a[0], &any(b).([]uint64)[0], &out[:whole][0], whole)
		}
		done = whole
	}
	maskOf(out[done:], len(a)-64*done, func(i int) bool { return a[64*done+i] == b[64*done+i] })
}

// validBits sets the bits of n rows to those of a validity bitmap from bit first on.
func validBits(out []uint64, bitmap []byte, first, n int) {
	at, shift := first/8, uint(first%8)
	for w := range out[:maskWords(n)] {
		var bytes [16]byte
		copy(bytes[:9], bitmap[min(at+8*w, len(bitmap)):])
		low, next := *(*uint64)(unsafe.Pointer(&bytes)), uint64(bytes[8])
		out[w] = low>>shift | next<<(64-shift)
	}
}
