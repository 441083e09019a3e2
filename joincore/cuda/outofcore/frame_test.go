package outofcore

import (
	"math"
	"testing"
)

// TestFrame: the first window decides whether, and around what, values are stored in 4 bytes.
func TestFrame(t *testing.T) {
	type window struct {
		least, greatest int64
		holds           bool
	}
	for name, windows := range map[string][]window{
		"row ids":         {{0, 1 << 22, true}, {1 << 22, 1 << 23, true}, {1 << 30, 1<<30 + 5, true}, {0, 1 << 32, false}, {1 << 40, 1 << 40, false}, {-1, 7, true}},
		"random":          {{math.MinInt64, math.MaxInt64, false}, {0, 0, false}},
		"least numbers":   {{math.MinInt64, math.MinInt64 + 9, true}, {math.MinInt64, math.MinInt64, true}, {math.MaxInt64, math.MaxInt64, true}, {math.MinInt64, math.MaxInt64, false}},
		"greatest":        {{math.MaxInt64 - 9, math.MaxInt64, true}, {0, 0, false}},
		"too far apart":   {{0, widestFrame + 1, false}, {0, 1, false}},
		"just near":       {{5, widestFrame + 5, true}},
		"no values":       {{1, 0, false}, {1, 1, true}},
		"half a frame up": {{0, 0, true}, {math.MaxUint32/2 + 1, math.MaxUint32/2 + 1, true}, {math.MaxUint32/2 + 2, math.MaxUint32/2 + 2, false}},
	} {
		var f frame
		for i, w := range windows {
			if f.holds(w.least, w.greatest) != w.holds {
				t.Errorf("%s, window %d: %+v", name, i, w)
			}
		}
	}
}

// FuzzFrame: every value of a window that the frame holds is restored from 4 bytes.
func FuzzFrame(f *testing.F) {
	f.Add(int64(0), uint64(9), int64(-5), uint64(1<<31))
	f.Add(int64(math.MaxInt64), uint64(0), int64(math.MinInt64), uint64(0))
	f.Fuzz(func(t *testing.T, first int64, spread uint64, second int64, spread2 uint64) {
		var f frame
		for _, w := range []struct {
			least  int64
			spread uint64
		}{{first, spread % (1 << 34)}, {second, spread2 % (1 << 34)}} {
			greatest := w.least + int64(w.spread)
			if greatest < w.least || !f.holds(w.least, greatest) {
				continue
			}
			for _, v := range []int64{w.least, w.least + int64(w.spread/2), greatest} {
				if stored := uint32(uint64(v) - f.base); int64(f.base+uint64(stored)) != v {
					t.Fatalf("%d became %d", v, int64(f.base+uint64(stored)))
				}
			}
		}
	})
}
