package e2e

import (
	"testing"

	"gpujoin/tests/harness"
)

// A forced job that runs for each row of an outer query gives way to a native plan that
// takes less time, also if it takes long. The jobs need a scan of half a million rows,
// the native plan one probe.
func TestForcedJobForEachRow(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t, "set max_parallel_workers_per_gather = 0")
	exec(t, s, `create table probed as select i as k, i * 10 as v from generate_series(0::int8, 499999) i;
		create index on fact (id); create index on probed (k); analyze fact, probed`)
	const sql = "select sum((select sum(p.v) from fact f join probed p on p.k = f.k where f.id = x)) from generate_series(1, 200) x"
	exec(t, s, native)
	want := query(t, s, sql)
	exec(t, s, forced)
	if d := harness.SameRows(want, query(t, s, sql)); d != "" {
		t.Error(d)
	}
	jobs := explain(t, s, "analyze", sql).OffloadJoins()
	if len(jobs) != 1 || jobs[0].Text("Fallback") != "the native plan takes less time for repeated scans" {
		t.Errorf("the last scan was a job: %v", jobs)
	}
}
