package exec_test

import (
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// TestForcedPhases: the phases of a join on cores are those of the algorithm
// that the plan names, so that the name is more than a label.
func TestForcedPhases(t *testing.T) {
	relation := suite.Keyed(1<<10, func(row int) uint64 { return uint64(row) })
	plan := suite.PairPlan(relation, relation)
	for a, first := range map[joincore.Algorithm]string{
		joincore.NPJ: "build", joincore.PHJUM: "partition build side", joincore.PHJOM: "partition build side",
		joincore.SMJUM: "sort build side", joincore.SMJOM: "sort build side",
	} {
		plan.Algorithm = a
		join := suite.Check(t, a.String(), cpu.New(), plan, []*joincore.Relation{relation, relation}, 100, exec.Options{}).Joins[0]
		if join.Algorithm != a.String() || join.Reason != "" || join.Phases[0].Name != first {
			t.Errorf("%v: %+v", a, join)
		}
	}
}

// TestForcedAlgorithmThatCoresCannotUse: payload that does not move with the key
// is reached by row id, and the join says so.
func TestForcedAlgorithmThatCoresCannotUse(t *testing.T) {
	relation := suite.Keyed(64, func(row int) uint64 { return uint64(row) })
	wide := &joincore.Relation{Columns: append([]joincore.Column{}, relation.Columns...)}
	wide.Columns[1] = joincore.Column{Kind: joincore.Fixed, Width: 64, Align: 8}
	for _, s := range relation.Segments {
		s.Columns = append([]joincore.Vector{}, s.Columns...)
		s.Columns[1] = joincore.Vector{Values: make([]byte, 64*s.Rows)}
		wide.Segments = append(wide.Segments, s)
	}
	pair := suite.PairPlan(wide, wide)

	// The lower join is the build side of the upper one, which stores row ids.
	small := suite.Keyed(16, func(row int) uint64 { return uint64(row) })
	tree := suite.PairPlan(relation, small)
	tree.Inputs = append(tree.Inputs, joincore.Input{Columns: relation.Columns, Rows: 1 << 20})
	tree.Root = &joincore.Join{
		Kind: joincore.Inner, Left: &joincore.Scan{Input: 2}, Right: tree.Root, Rows: 16,
		Keys: []joincore.KeyPair{{Left: joincore.ColumnRef{Input: 2}, Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
	}
	large := suite.Keyed(500, func(row int) uint64 { return uint64(row) })
	for name, c := range map[string]struct {
		plan   *joincore.Plan
		inputs []*joincore.Relation
		reason string
	}{
		"wide payload": {pair, []*joincore.Relation{wide, wide}, "no column of its payload"},
		"build side":   {tree, []*joincore.Relation{relation, small, large}, "stored as row ids"},
	} {
		for _, a := range []joincore.Algorithm{joincore.PHJOM, joincore.SMJOM} {
			c.plan.Algorithm = a
			join := suite.Check(t, name, cpu.New(), c.plan, c.inputs, 100, exec.Options{}).Joins[0]
			if join.Algorithm != a.UM().String() || !strings.Contains(join.Reason, c.reason) {
				t.Errorf("%s, %v: %+v", name, a, join)
			}
		}
	}
}
