package worker

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/suite"
)

// TestForcedAlgorithm: the child executes joins by the algorithm that the plan
// names, or reports why it does not.
func TestForcedAlgorithm(t *testing.T) {
	relation := suite.Keyed(500, func(row int) uint64 { return uint64(row) })
	inputs := []*joincore.Relation{relation, relation}
	for mode, able := range map[string]func(joincore.Algorithm) bool{
		"cpu":  func(joincore.Algorithm) bool { return true },
		"bulk": func(a joincore.Algorithm) bool { return !a.OM() },
	} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, mode, nil).ready()
			for _, a := range joincore.Algorithms {
				plan := suite.PairPlan(relation, relation)
				plan.Algorithm = a
				join := r.compare(a.String(), plan, inputs, 100).Joins[0]
				if a.Executed(join.Algorithm) != able(a) || (join.Reason == "") != able(a) {
					t.Errorf("%v: executed by %s, reason %q", a, join.Algorithm, join.Reason)
				}
			}
		})
	}
}
