package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestHalves: the sums of halves are those of each value, with and without vectors, for any
// number of values, from any address on.
func TestHalves(t *testing.T) {
	const most = 5*sumBlock + 3
	r := rand.New(rand.NewPCG(1, 2))
	extremes := []uint64{0, 1, math.MaxInt64, 1 << 63, math.MaxUint64, math.MaxUint32, 1 << 32, 1 << 31}
	values := make([]uint64, most+1)
	for round := range 50 {
		for i := range values {
			switch round % 3 {
			case 0:
				values[i] = r.Uint64()
			case 1:
				values[i] = extremes[r.IntN(len(extremes))]
			default:
				values[i] = extremes[round%len(extremes)]
			}
		}
		for n := range most {
			v := values[round%2:][:n]
			var lower, upper int64
			for _, x := range v {
				lower += int64(x & math.MaxUint32)
				upper += int64(x) >> 32
			}
			for _, vectors := range []bool{canMask, false} {
				func() {
					defer func(before bool) { canMask = before }(canMask)
					canMask = vectors
					if l, u := halvesOf(v); l != lower || u != upper {
						t.Fatalf("%d values, vectors %v: %d and %d, not %d and %d", n, vectors, l, u, lower, upper)
					}
				}()
			}
		}
	}
}
