//go:build cuda

package columnartest

import (
	"flag"
	"iter"
	"math/rand/v2"
	"testing"
	"time"
)

var seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of random data")

// Source returns a test's source of random data; -seed repeats it.
func Source(t testing.TB) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", *seed)
	return source(0)
}

func source(number int) *rand.Rand { return rand.New(rand.NewPCG(*seed, uint64(number))) }

// Trials iterates over n trials, each with a source of its own, so that a trial
// does not depend on the others.
func Trials(t testing.TB, n int) iter.Seq2[int, *rand.Rand] {
	return func(yield func(int, *rand.Rand) bool) {
		t.Helper()
		t.Logf("%d trials, seed %d", n, *seed)
		for i := range n {
			if !yield(i, source(i)) {
				return
			}
		}
	}
}
