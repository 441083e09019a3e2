package e2e

import (
	"strings"
	"testing"
)

// A serial block that is cheaper than the parallel one falls back to the native plan
// of several processes, which core drops when the parallel block has been added.
func TestSerialBlockKeepsParallelNative(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t, "set gpujoin.enable_aggregates = on", "set gpujoin.min_rows = 0", "set gpujoin.estimate_native = off",
		"set gpujoin.startup_cost = 0", "set max_parallel_workers_per_gather = 2", "set parallel_setup_cost = 300",
		"set enable_sort = off", "set plan_cache_mode = force_generic_plan",
		"prepare grouped as select g, sum(id), count(*) from fact group by g")
	planned := explain(t, s, "", "execute grouped")
	if len(planned.Jobs()) != 1 || planned.Text("Custom Plan Provider") != "OffloadBlock" {
		t.Fatalf("not a serial block: %v", planned)
	}
	if err := w.Daemon.Stop(); err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(query(t, s, "explain (analyze, costs off, timing off) execute grouped").Rows, "\n")
	if !strings.Contains(plan, "Fallback") || !strings.Contains(plan, "Finalize HashAggregate") {
		t.Errorf("not the native plan of several processes:\n%s", plan)
	}
}
