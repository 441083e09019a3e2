package e2e

import (
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
	"gpujoin/tests/tpch"
)

// innerJoins are the queries whose native plan has an inner join of base
// tables: with forced offloading the daemon executes at least one of them.
var innerJoins = map[int]bool{2: true, 3: true, 5: true, 7: true, 8: true, 9: true, 10: true, 11: true,
	12: true, 14: true, 16: true, 17: true, 18: true, 19: true, 20: true, 21: true}

func TestTPCH(t *testing.T) {
	const sf = 0.01
	w := newWorld(t)
	s := w.Session(t)
	ctx, cancel := bounded()
	defer cancel()
	if err := tpch.Load(ctx, sqltest.Env, s, sf, func(string) {}); err != nil {
		t.Fatal(err)
	}
	for n := range 22 {
		sql, err := tpch.Query(n+1, sf)
		if err != nil {
			t.Fatal(err)
		}
		exec(t, s, native)
		want := query(t, s, sql)
		for _, workers := range []string{"0", "2"} {
			exec(t, s, forced+"set max_parallel_workers_per_gather = "+workers)
			if d := harness.SameRows(want, query(t, s, sql)); d != "" {
				t.Errorf("query %d, %s workers: %s", n+1, workers, d)
			}
			if joins := explain(t, s, "analyze, timing off", sql).OffloadedJoins(); joins == 0 && innerJoins[n+1] {
				t.Errorf("query %d, %s workers: no join was offloaded", n+1, workers)
			}
		}
	}
	w.Unharmed(t, s)
}
