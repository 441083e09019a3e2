package run_test

import (
	"slices"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/choose"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/run"
	"gpujoin/joincore/runtest"
)

// TestPhasesSayWhereTimeGoes: each algorithm names its phases, which together
// are the time of the join.
func TestPhasesSayWhereTimeGoes(t *testing.T) {
	relation := runtest.Keyed(1<<14, func(row int) uint64 { return uint64(row) })
	plan := runtest.PairPlan(relation, relation)
	for a, want := range map[joincore.Algorithm][]string{
		joincore.NPJ:   {"build", "match"},
		joincore.PHJUM: {"partition build side", "partition probe side", "match"},
		joincore.PHJOM: {"partition build side", "partition probe side", "match"},
		joincore.SMJUM: {"sort build side", "sort probe side", "match"},
		joincore.SMJOM: {"sort build side", "sort probe side", "match"},
	} {
		var stats joincore.Stats
		sink := runtest.NewDiscarder(runtest.Int64Columns(2), 4, 1<<13)
		err := run.Run(t.Context(), cpu.New(), plan, []*joincore.Relation{relation, relation}, &runtest.Arena{}, sink, run.Options{
			Decide: func(_ int, d choose.Decision) choose.Decision { d.Algorithm = a; return d },
		}, &stats)
		if err != nil {
			t.Fatal(err)
		}
		join := stats.Joins[0]
		var names []string
		total := time.Duration(0)
		for _, p := range join.Phases {
			if p.Actual <= 0 {
				t.Errorf("%v: %s took %v", a, p.Name, p.Actual)
			}
			names, total = append(names, p.Name), total+p.Actual
		}
		if !slices.Equal(names, want) || total != join.Time {
			t.Errorf("%v: phases %q of %v, join of %v", a, names, total, join.Time)
		}
	}
}
