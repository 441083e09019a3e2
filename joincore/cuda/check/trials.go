//go:build cuda

package check

import (
	"flag"
	"iter"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	seed   = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of random data")
	enough = flag.Duration("enough", 0, "begin no trial of a test later than this after its first one, and take them in random order; 0: all trials in order")
)

// Source is a test's source of random data, which -seed repeats.
func Source(t testing.TB) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", *seed)
	return source(0)
}

func source(number int) *rand.Rand { return rand.New(rand.NewPCG(*seed, uint64(number))) }

// Trials hands out the numbers of n trials, each with a source of its own, so
// that a trial is the same whichever were run before it. What slows kernels
// down beyond measure gets as many trials as there is time for; at least one.
func Trials(t testing.TB, n int) iter.Seq2[int, *rand.Rand] {
	return func(yield func(int, *rand.Rand) bool) {
		t.Helper()
		if *enough == 0 {
			t.Logf("%d trials, seed %d", n, *seed)
			for i := range n {
				if !yield(i, source(i)) {
					return
				}
			}
			return
		}
		begin, done := time.Now(), 0
		for _, i := range source(-1).Perm(n) {
			if done > 0 && time.Since(begin) > *enough {
				break
			}
			if !yield(i, source(i)) {
				return
			}
			done++
		}
		t.Logf("%d of %d trials in %v, seed %d", done, n, time.Since(begin).Round(time.Millisecond), *seed)
	}
}
