//go:build cuda

package columnartest

import (
	"math/rand/v2"
	"testing"
	"time"

	"gpujoin/joincore/cuda/columnar"
)

// Named is one of a set: what it shows, and how it is run.
type Named struct {
	Name string
	Run  func(*rand.Rand)
}

// Set runs a small set, always the same and on new data, that has each family
// of kernels once at least: what slows kernels down a thousandfold has no time
// for more. It logs the names of all, and each again when it has been run. None
// is begun when three quarters of the test's time are over.
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

// Named is a join of a set.
func (r *Rig) Named(name string, f columnar.Func, c Case) Named {
	return Named{name, func(random *rand.Rand) {
		r.Rand = random
		r.Inner(f, c)
	}}
}
