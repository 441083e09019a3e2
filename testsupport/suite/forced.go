package suite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// Forced: a plan that names an algorithm is executed by it. Where that cannot be,
// the result is the same, and each join says why.
func Forced(t *testing.T, s Subject) {
	for _, a := range joincore.Algorithms {
		t.Run(a.String(), func(t *testing.T) {
			s.forcedPair(t, a)
			s.forcedTree(t, a)
			s.forcedKinds(t, a)
		})
	}
}

// forced runs a plan by an algorithm. Every join has a reason unless it was
// executed so.
func (s Subject) forced(t *testing.T, name string, a joincore.Algorithm, plan *joincore.Plan, inputs []*joincore.Relation) []joincore.JoinStats {
	t.Helper()
	own := *plan
	own.Algorithm = a
	joins := Check(t, name, s.Provider, &own, inputs, 7, exec.Options{Device: device.Options{Streams: 2, Seed: 1}}).Joins
	for i, j := range joins {
		if a.Executed(j.Algorithm) != (j.Reason == "") {
			t.Errorf("%s: join %d was executed by %s, reason %q", name, i, j.Algorithm, j.Reason)
		}
	}
	return joins
}

// forcedPair: every provider executes the simplest join by each of its
// algorithms.
func (s Subject) forcedPair(t *testing.T, a joincore.Algorithm) {
	left, right := Keyed(300, func(row int) uint64 { return uint64(row) }), Keyed(200, func(row int) uint64 { return uint64(row) })
	join := s.forced(t, "pair", a, PairPlan(left, right), []*joincore.Relation{left, right})[0]
	if slices.Contains(s.Algorithms, a) != a.Executed(join.Algorithm) {
		t.Errorf("%v: executed by %s, %q", a, join.Algorithm, join.Reason)
	}
}

func (s Subject) forcedTree(t *testing.T, a joincore.Algorithm) {
	plan, inputs := bushyTree()
	joins := s.forced(t, "tree", a, plan, inputs)
	if len(joins) != 3 {
		t.Errorf("%v: %d joins", a, len(joins))
	}
}

// forcedKinds draws joins of every kind, with keys and conditions of every sort.
func (s Subject) forcedKinds(t *testing.T, a joincore.Algorithm) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, uint64(a)))
		c := joinCase{
			algorithm: a, kind: kinds[seed%uint64(len(kinds))], keys: pick(r, keyTypes), dist: pick(r, distributions),
			left: 90, right: 60, segment: 37, residual: seed%3 == 0, seed: seed,
		}
		if !c.meaningful() || s.leftOut(seed, 4) {
			continue
		}
		plan, inputs := c.plan()
		s.forced(t, fmt.Sprint(c), a, plan, inputs)
	}
}
