package bitmap

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBitsAreCopiedFromAnyPositionToAny(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	get := func(b []byte, i int) bool { return b[i/8]>>(i%8)&1 != 0 }
	for range 20000 {
		from := make([]byte, 40)
		for i := range from {
			from[i] = byte(rnd.Uint32()) | byte(-rnd.IntN(2))
		}
		at, to, n := rnd.IntN(100), rnd.IntN(100), rnd.IntN(200)
		all := true
		for i := range n {
			all = all && get(from, at+i)
		}
		if AllSet(from, at, n) != all {
			t.Fatalf("AllSet of %d bits from %d on", n, at)
		}
		out := make([]byte, (to+n+7)/8)
		before := slices.Clone(from[:len(out)])
		copy(out, before)
		set := slices.Clone(out)
		Copy(out, to, from, at, n)
		Set(set, to, n)
		for i := range len(out) * 8 {
			want, wantSet := false, false
			switch {
			case i < to:
				want = get(before, i)
				wantSet = want
			case i < to+n:
				want, wantSet = get(from, at+i-to), true
			case n == 0:
				want = get(before, i)
				wantSet = want
			}
			if get(out, i) != want || get(set, i) != wantSet {
				t.Fatalf("bit %d of %d bits copied from %d to %d", i, n, at, to)
			}
		}
	}
}
