package fault

import (
	"fmt"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
)

// starving are tables whose rows soon fill the queue between a worker and its
// leader, so that workers block while the leader waits for rows of its own.
const starving = `
	create table starving_a as select i as id, lpad('', 100, 'a') as pad from generate_series(1, 60000) i;
	create table starving_b as select i as id, lpad('', 100, 'b') as pad from generate_series(1, 120000) i;
	alter table starving_a set (parallel_workers = 10);
	alter table starving_b set (parallel_workers = 10);
	analyze starving_a, starving_b`

// starved sends its rows through the queues of a Gather below the limit.
const starved = "select count(*), sum(length(p) + length(q)) from " +
	"(select a.pad as p, b.pad as q from starving_a a join starving_b b using (id) %s offset 0) x"

// A leader that waits for a batch reads no queue. It must get a batch even if
// workers hold batches that they cannot finish until it reads.
func TestLeaderIsNotStarved(t *testing.T) {
	w := theWorld(t)
	exec(t, w.Witness, starving)
	t.Cleanup(func() { exec(t, w.Witness, "drop table starving_a, starving_b") })
	const runs = 40
	for _, c := range []struct {
		name    string
		workers int
		where   string
		options harness.DaemonOptions
		least   int64 // minimum number of runs that the daemon must have joined
	}{
		{"ten workers", 10, "", nil, runs},
		{"eight workers", 8, "", nil, runs},
		{"many cores", 10, "", harness.DaemonOptions{"cores": "16"}, runs},
		{"a window of four", 2, "", harness.DaemonOptions{"window": "4"}, runs},
		// The planner underestimates the condition, so the job is admitted with
		// less memory than it needs and its window shrinks.
		{"hardly any memory", 10, "where a.id % 1 = 0", harness.DaemonOptions{"memory-budget": "56MB", "memory-warm": "2MB"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := w.daemonWith(t, "starve", c.options)
			s := w.Session(t, forced, "set gpujoin.socket = '"+d.Socket+"'", "set statement_timeout = '30s'",
				fmt.Sprintf("set max_parallel_workers_per_gather = %d", c.workers))
			sql := fmt.Sprintf(starved, c.where)
			want := w.Expect(t, sql)
			before := reportOf(t, s).Totals.Joins
			for run := range runs {
				if d := harness.SameRows(want, query(t, s, sql)); d != "" {
					t.Fatalf("run %d: %s", run, d)
				}
			}
			if n := reportOf(t, s).Totals.Joins - before; n < c.least {
				t.Errorf("%d of %d runs were joined by the daemon", n, runs)
			}
			settled(t, s)
		})
	}
}

// daemonWith starts a daemon whose options differ from the world's, and stops
// it at the end of the test.
func (w *world) daemonWith(t *testing.T, name string, more harness.DaemonOptions) *harness.Daemon {
	t.Helper()
	d, err := w.Cluster.StartDaemonAt(w.Cluster.Sock+"/"+name, sqltest.DaemonOptions(more))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of the daemon %s ends:\n%s", name, d.LogTail(20))
		}
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	return d
}
