package joincore

import (
	"cmp"
	"slices"
)

// AddPhase adds p to the phase of its name, or behind all others: a join that
// probes several times goes through the same phases again.
func (s *JoinStats) AddPhase(p Phase) {
	for i := range s.Phases {
		if q := &s.Phases[i]; q.Name == p.Name {
			q.Predicted += p.Predicted
			q.Actual += p.Actual
			return
		}
	}
	s.Phases = append(s.Phases, p)
}

// otherPhases is the name of what FoldPhases adds up.
const otherPhases = "other"

// FoldPhases returns at most n > 0 phases that take as long as all of them do,
// by prediction and in fact: the longest in their order, and the others as
// one. A sum that holds something which was not predicted is not predicted.
func FoldPhases(phases []Phase, n int) []Phase {
	if len(phases) <= n {
		return slices.Clone(phases)
	}
	order := make([]int, len(phases)) // longest first
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		p, q := phases[a], phases[b]
		return -cmp.Compare(max(p.Predicted, p.Actual), max(q.Predicted, q.Actual))
	})
	kept := order[:n-1]
	other := Phase{Name: otherPhases}
	predicted := true
	var out []Phase
	for i, p := range phases {
		if slices.Contains(kept, i) {
			out = append(out, p)
			continue
		}
		other.Predicted += p.Predicted
		other.Actual += p.Actual
		predicted = predicted && p.Predicted > 0
	}
	if !predicted {
		other.Predicted = 0
	}
	return append(out, other)
}
