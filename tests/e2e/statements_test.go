package e2e

import (
	"fmt"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
)

// counting starts a server that counts at most ten statements.
func counting(t *testing.T) (*harness.Pair, *harness.Session) {
	t.Helper()
	w, err := sqltest.Env.StartPair(sqltest.Settings(harness.Settings{
		"shared_preload_libraries": "'gpujoin'", "session_preload_libraries": "''", "gpujoin.stat_statements_max": "10",
	}), sqltest.DaemonOptions(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log ends:\n%s", w.Cluster.Server().LogTail(30))
		}
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := sqltest.SessionIn(t, w.Cluster, "postgres", "create extension if not exists gpujoin", sqltest.Tables, "analyze fact, dim, tiny")
	return w, s
}

// TestStatStatements counts executions of all kinds, in another session than that which looks.
func TestStatStatements(t *testing.T) {
	w, s := counting(t)
	const counts = `select calls, offloaded, jobs, fallbacks, reasons, feed_ms > 0 and join_ms > 0, return_ms > 0, expected_native_ms > 0
		from gpujoin.stat_statements`
	const serial, all = "set max_parallel_workers_per_gather = 0", "\tt\tt\tt"
	for _, c := range []struct {
		name string
		run  []string
		fail string // of one of these
		want string
	}{
		{"a join, twice", []string{serial, theJoin, theJoin}, "", "2\t2\t2\t0\t{}" + all},
		{"a parallel join", []string{"set max_parallel_workers_per_gather = 2", theJoin}, "", "1\t1\t1\t0\t{}" + all},
		{"two joins", []string{serial, theJoin + " union all " + theJoin}, "", "1\t1\t2\t0\t{}" + all},
		{"a cursor that is not read to its end", []string{serial, "begin", "declare c cursor for " + theJoin, "fetch 1 from c", "commit"}, "", "1\t1\t1\t0\t{}" + all},
		{"explain", []string{serial, "explain " + theJoin}, "", ""},
		{"an error after the first row", []string{serial, "select 1 / (j.id - 10) from (" + theJoin + " offset 0) j(id)"}, "division by zero", "1\t1\t1\t0\t{}\tt\tf\tt"},
		{"switched off", []string{serial, "prepare p as " + theJoin, "set plan_cache_mode = force_generic_plan", "explain execute p",
			"set gpujoin.enabled = off", "execute p"}, "", "1\t0\t0\t0\t{}\tf\tf\tf"},
		{"no daemon", []string{serial, "prepare p as " + theJoin, "set plan_cache_mode = force_generic_plan", "explain execute p",
			"set gpujoin.socket = '/nowhere'", "execute p", "execute p"}, "", "2\t0\t0\t2\t{\"silent\": 2}\tf\tf\tf"},
		{"no daemon, parallel", []string{"set max_parallel_workers_per_gather = 2", "prepare p as " + theJoin, "set plan_cache_mode = force_generic_plan",
			"explain execute p", "set gpujoin.socket = '/nowhere'", "execute p"}, "", "1\t0\t0\t1\t{\"silent\": 1}\tf\tf\tf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := sqltest.SessionIn(t, w.Cluster, "postgres", forced)
			query(t, s, "select gpujoin.stat_statements_reset()")
			failed := ""
			for _, sql := range c.run {
				ctx, cancel := bounded()
				if _, err := in.Query(ctx, sql); err != nil {
					failed = err.Error()
				}
				cancel()
			}
			if (failed == "") != (c.fail == "") || !strings.Contains(failed, c.fail) {
				t.Fatalf("failed by %q", failed)
			}
			if got := strings.Join(query(t, s, counts).Rows, "\n"); got != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
		})
	}

	// others see what is theirs, and cannot reset
	exec(t, s, "create role regress_other; grant select on fact, dim, tiny to regress_other")
	in := sqltest.SessionIn(t, w.Cluster, "postgres", forced, "set role regress_other")
	query(t, in, theJoin)
	if got := query(t, in, "select userid::regrole, calls from gpujoin.stat_statements").Rows; fmt.Sprint(got) != "[regress_other\t1]" {
		t.Errorf("%q", got)
	}
	ctx, cancel := bounded()
	defer cancel()
	if _, err := in.Query(ctx, "select gpujoin.stat_statements_reset()"); harness.SQLState(err) != "42501" {
		t.Error(err)
	}

	// only the statements of most use stay
	for i := range 25 {
		query(t, in, "select 1"+strings.Repeat(", count(*)", i+1)+" from ("+theJoin+") j")
	}
	if got := query(t, s, "select (select count(*) from gpujoin.stat_statements), dealloc >= 15, stats_reset < now() from gpujoin.stat_statements_info").Rows; got[0] != "10\tt\tt" {
		t.Errorf("%q", got)
	}
}
