package e2e

import (
	"testing"

	"gpujoin/tests/harness"
)

// The leader of a parallel block returns all groups if it has fed rows. If it
// takes no part, the workers return them.
func TestLeaderReturnsGroups(t *testing.T) {
	w := theWorld(t)
	const sql = "select f.id, count(*), sum(d.v) from fact f join dim d on f.k = d.k group by f.id"
	native := w.Session(t, "set gpujoin.enabled = off")
	want := query(t, native, sql)
	for _, leader := range []string{"on", "off"} {
		t.Run("participation "+leader, func(t *testing.T) {
			s := w.Session(t, forced, "set gpujoin.enable_aggregates = on; set max_parallel_workers_per_gather = 2; set parallel_leader_participation = "+leader)
			blocks := explain(t, s, "analyze", sql).Jobs()
			if len(blocks) != 1 {
				t.Fatalf("%d blocks: %v", len(blocks), blocks)
			}
			fed, returned := fedAndReturned(blocks[0])
			if returned["leader"]+returned["workers"] != float64(len(want.Rows)) {
				t.Errorf("%d groups, returned %v", len(want.Rows), returned)
			}
			if fed["leader"] > 0 && returned["workers"] > 0 {
				t.Errorf("fed %v, returned %v", fed, returned)
			}
			if leader == "off" && returned["leader"] > 0 {
				t.Errorf("a leader that does not take part returned %v", returned)
			}
			if d := harness.SameRows(want, query(t, s, sql)); d != "" {
				t.Error(d)
			}
		})
	}
	w.Unharmed(t, nil)
}

// fedAndReturned sums the rows of the leader and of the workers.
func fedAndReturned(block harness.Node) (fed, returned map[string]float64) {
	fed, returned = map[string]float64{}, map[string]float64{}
	for _, p := range block.Participants() {
		who := "workers"
		if p.Text("Process") == "leader" {
			who = "leader"
		}
		fed[who] += p.Number("Fed Rows")
		returned[who] += p.Number("Returned Rows")
	}
	return fed, returned
}
