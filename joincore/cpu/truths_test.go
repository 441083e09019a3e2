package cpu

import (
	"math/rand/v2"
	"testing"
)

// TestTruths compares what works on words of truth values with what works on one.
func TestTruths(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range maskSizes {
		for _, frequent := range []int{3, 40} { // values are as frequent, or most are true
			a, b := make([]uint8, n), make([]uint8, n)
			of := func(list []uint8) *truths {
				out := newTruths(n)
				for i, x := range list {
					out.yes[i/64] |= uint64(x>>1) << (i % 64)
					out.maybe[i/64] |= uint64((x+1)>>1) << (i % 64)
				}
				return out
			}
			check := func(name string, got *truths, n int, want func(i int) uint8) {
				for i := range n {
					if got.of(i) != want(i) {
						t.Fatalf("%s, row %d of %d: %d, want %d", name, i, n, got.of(i), want(i))
					}
				}
			}
			var sel []uint32
			for i := range a {
				a[i], b[i] = uint8(2-max(2-random.IntN(frequent), 0)), uint8(random.IntN(3))
				if random.IntN(3) == 0 {
					sel = append(sel, uint32(i))
				}
			}
			x := of(a)
			x.and(of(b))
			check("and", x, n, func(i int) uint8 { return min(a[i], b[i]) })
			x = of(a)
			x.or(of(b))
			check("or", x, n, func(i int) uint8 { return max(a[i], b[i]) })
			x = of(a)
			x.not()
			check("not", x, n, func(i int) uint8 { return isTrue - a[i] })
			x = newTruths(n)
			x.pick(of(a), sel)
			check("pick", x, len(sel), func(j int) uint8 { return a[sel[j]] })
			y := newTruths(n)
			y.put(x, sel)
			chosen := map[int]bool{}
			for _, i := range sel {
				chosen[int(i)] = true
			}
			check("put", y, n, func(i int) uint8 {
				if chosen[i] {
					return a[i]
				}
				return isFalse
			})
			valid := newTruths(n)
			copy(valid.yes, of(a).yes)
			maskOf(valid.maybe, n, func(i int) bool { return b[i] != 0 })
			valid.unknownExcept()
			check("unknown", valid, n, func(i int) uint8 {
				if b[i] == 0 {
					return isUnknown
				}
				return a[i] / 2 * 2
			})
		}
	}
}
