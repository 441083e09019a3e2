//go:build cuda

package columnartest

import (
	"math/rand/v2"
	"testing"
	"time"

	"gpujoin/joincore/cuda/columnar"
)

// Named is a test of a set: what it shows, and how to run it.
type Named struct {
	Name string
	Run  func(*rand.Rand)
}

// Set runs a small, fixed set of tests that uses each family of kernels at
// least once, for tools that slow kernels down a thousandfold. It logs all
// names first, and each name after its test. It starts no test after three
// quarters of the time limit.
func Set(t *testing.T, set []Named) {
	t.Helper()
	var names []string
	for _, s := range set {
		names = append(names, s.Name)
	}
	t.Logf("set %q, seed %d", names, *seed)
	begin := time.Now()
	deadline, limited := t.Deadline()
	for i, s := range set {
		at := time.Now()
		if limited && at.Sub(begin) > deadline.Sub(begin)*3/4 {
			return
		}
		s.Run(source(i))
		t.Logf("ran %q in %v", s.Name, time.Since(at).Round(time.Millisecond))
	}
}

// Named returns a join as a test of a set.
func (r *Rig) Named(name string, f columnar.Func, c Case) Named {
	return Named{name, func(random *rand.Rand) {
		r.Rand = random
		r.Inner(f, c)
	}}
}
