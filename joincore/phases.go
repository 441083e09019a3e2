package joincore

import (
	"cmp"
	"slices"
)

// AddPhase adds p's times to the phase of that name, or appends it: a join that probes
// several times repeats its phases.
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

// otherPhases is the name of FoldPhases' sum.
const otherPhases = "other"

// FoldPhases reduces phases to at most n > 0 with the same total times: the longest
// ones in their order, then the sum of the others. The sum has a prediction only if
// each of its parts has one.
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
