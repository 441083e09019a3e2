package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTruths compares what works on eight truth values at a time with what works on
// one, for lengths around multiples of eight and values that are rare or frequent.
func TestTruths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 70 {
		for _, rare := range []int{3, 40} {
			a, b := make([]uint8, n), make([]uint8, n)
			for i := range a {
				a[i], b[i] = uint8(max(r.IntN(rare)-rare+3, 0)), uint8(r.IntN(3))
			}
			both, either := slices.Clone(a), slices.Clone(a)
			andTruths(both, b)
			orTruths(either, b)
			for i := range a {
				if both[i] != min(a[i], b[i]) || either[i] != max(a[i], b[i]) {
					t.Fatalf("%d and %d: %d, or: %d", a[i], b[i], both[i], either[i])
				}
			}
			for which := range uint8(8) {
				var want []uint32
				for i, x := range a {
					if which>>x&1 != 0 {
						want = append(want, uint32(i))
					}
				}
				sel := make([]uint32, n)
				got := sel[:selectTruths(sel, a, which)]
				if !slices.Equal(got, want) || countTruths(a, which) != len(want) {
					t.Fatalf("%v, truths %03b: %v, want %v", a, which, got, want)
				}
			}
		}
	}
}
