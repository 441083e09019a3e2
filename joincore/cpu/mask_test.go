package cpu

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sizes of chunks around whole words.
var maskSizes = []int{0, 1, 2, 63, 64, 65, 127, 128, 129, 200, 256, 4096}

// checkMask compares the first n bits of a mask with what want says.
func checkMask(t *testing.T, name string, got []uint64, n int, want func(i int) bool) {
	t.Helper()
	for i := range n {
		if is := got[i/64]>>(i%64)&1 != 0; is != want(i) {
			t.Fatalf("%s: row %d of %d: %v", name, i, n, is)
		}
	}
	if got[maskWords(n)] != 0xdead {
		t.Fatalf("%s of %d rows: written behind the mask", name, n)
	}
}

func emptyMask(n int) []uint64 {
	out := make([]uint64, maskWords(n)+1)
	out[maskWords(n)] = 0xdead
	return out
}

// withAndWithoutVectors calls f with the processor's instructions, where it has them, and
// with what replaces them.
func withAndWithoutVectors(f func()) {
	defer func(before bool) { canMask = before }(canMask)
	f()
	canMask = false
	f()
}

func checkColumns(t *testing.T, a, b []uint64, low, high uint64) {
	t.Helper()
	n := len(a)
	a32, b32 := make([]uint32, n), make([]uint32, n)
	for i := range a {
		a32[i], b32[i] = uint32(a[i]), uint32(b[i])
	}
	withAndWithoutVectors(func() {
		if l, h := min(int64(low), int64(high)), max(int64(low), int64(high)); true {
			out := emptyMask(n)
			outsideRange(out, a, uint64(l), uint64(h))
			checkMask(t, "range of 64 bits", out, n, func(i int) bool { return int64(a[i]) < l || int64(a[i]) > h })
		}
		if l, h := min(int32(low), int32(high)), max(int32(low), int32(high)); true {
			out := emptyMask(n)
			outsideRange(out, a32, uint32(l), uint32(h))
			checkMask(t, "range of 32 bits", out, n, func(i int) bool { return int32(a32[i]) < l || int32(a32[i]) > h })
		}
		out := emptyMask(n)
		lessColumns(out, a, b)
		checkMask(t, "less, 64 bits", out, n, func(i int) bool { return int64(a[i]) < int64(b[i]) })
		lessColumns(out, a32, b32)
		checkMask(t, "less, 32 bits", out, n, func(i int) bool { return int32(a32[i]) < int32(b32[i]) })
		equalColumns(out, a, b)
		checkMask(t, "equal, 64 bits", out, n, func(i int) bool { return a[i] == b[i] })
		equalColumns(out, a32, b32)
		checkMask(t, "equal, 32 bits", out, n, func(i int) bool { return a32[i] == b32[i] })
	})
}

func checkBits(t *testing.T, mask []uint64, n int, first uint32) {
	t.Helper()
	var want []uint32
	for i := range n {
		if mask[i/64]>>(i%64)&1 != 0 {
			want = append(want, first+uint32(i))
		}
	}
	if got := countBits(mask, n); got != len(want) {
		t.Fatalf("%d bits of %d, want %d", got, n, len(want))
	}
	withAndWithoutVectors(func() {
		out := make([]uint32, n+pad)
		if got := out[:expand(out, slices.Clone(mask), n, first)]; !slices.Equal(got, want) {
			t.Fatalf("%d rows from %d: %v, want %v", n, first, got, want)
		}
	})
}

// TestMasks compares the loops over words, of the processor and in Go, with one over rows.
func TestMasks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	extremes := []uint64{0, 1, math.MaxUint64, math.MaxInt64, 1 << 63, 1<<63 + 1, 1 << 31, 1<<31 - 1, math.MaxUint32, 7}
	any := func() uint64 {
		if random.IntN(2) == 0 {
			return random.Uint64() >> random.IntN(64)
		}
		return extremes[random.IntN(len(extremes))]
	}
	for _, n := range maskSizes {
		for range 20 {
			a, b := make([]uint64, n), make([]uint64, n)
			for i := range a {
				if a[i], b[i] = any(), any(); random.IntN(3) == 0 {
					b[i] = a[i]
				}
			}
			checkColumns(t, a, b, any(), any())
			mask := make([]uint64, maskWords(n))
			for i := range mask {
				mask[i] = []uint64{0, random.Uint64(), random.Uint64() & random.Uint64() & random.Uint64(), math.MaxUint64}[random.IntN(4)]
			}
			checkBits(t, mask, n, uint32(any()))
		}
	}
}

// TestValidBits reads validity from any bit on.
func TestValidBits(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	bitmap := make([]byte, 60)
	for i := range bitmap {
		bitmap[i] = byte(random.Uint32())
	}
	for first := range 130 {
		for _, n := range []int{0, 1, 7, 8, 63, 64, 65, 200, 480 - first} {
			out := emptyMask(n)
			validBits(out, bitmap[:(first+n+7)/8], first, n)
			checkMask(t, "validity", out, n, func(i int) bool { return bitmap[(first+i)/8]>>((first+i)%8)&1 != 0 })
		}
	}
}

// FuzzMasks is TestMasks with columns of the fuzzer.
func FuzzMasks(f *testing.F) {
	f.Add(make([]byte, 1024), uint64(3), uint64(5))
	f.Fuzz(func(t *testing.T, raw []byte, low, high uint64) {
		var words []uint64
		for ; len(raw) >= 8; raw = raw[8:] {
			words = append(words, binary.LittleEndian.Uint64(raw))
		}
		n := len(words) / 2
		checkColumns(t, words[:n], words[n:2*n], low, high)
		checkBits(t, words, 64*len(words)-int(low%64)*min(len(words), 1), uint32(high))
	})
}
