package exec_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// TestPhasesSayWhereTimeGoes: each algorithm names its phases, which together
// are the time of the join; the topmost one gathers the result.
func TestPhasesSayWhereTimeGoes(t *testing.T) {
	relation := suite.Keyed(1<<14, func(row int) uint64 { return uint64(row) })
	plan := suite.PairPlan(relation, relation)
	partitioned := []string{"partition build side", "partition probe side", "match"}
	sorted := []string{"sort build side", "sort probe side", "match"}
	phases := map[joincore.Algorithm][]string{
		joincore.NPJ: {"build", "match"}, joincore.PHJUM: partitioned, joincore.PHJOM: partitioned,
		joincore.SMJUM: sorted, joincore.SMJOM: sorted,
	}
	for _, s := range subjects {
		last := "gather"
		if strings.HasPrefix(s.Provider.Name(), "bulk") {
			last = "return"
		}
		for _, a := range s.Algorithms {
			want := append(slices.Clone(phases[a]), last)
			var stats joincore.Stats
			sink := suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<13)
			err := suite.Run(t.Context(), s.Provider, plan, []*joincore.Relation{relation, relation}, &suite.Arena{}, sink, exec.Options{
				Decide: func(_ int, d costmodel.Decision) costmodel.Decision { d.Algorithm = a; return d },
			}, &stats)
			if err != nil {
				t.Fatal(err)
			}
			join := stats.Joins[0]
			var names []string
			total := time.Duration(0)
			for _, p := range join.Phases {
				if p.Actual <= 0 {
					t.Errorf("%s, %v: %s took %v", s.Provider.Name(), a, p.Name, p.Actual)
				}
				names, total = append(names, p.Name), total+p.Actual
			}
			if !slices.Equal(names, want) || total != join.Time {
				t.Errorf("%s, %v: phases %q of %v, join of %v", s.Provider.Name(), a, names, total, join.Time)
			}
		}
	}
}
