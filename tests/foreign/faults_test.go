package foreign

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
	"gpujoin/tests/mirrorcheck"
	"gpujoin/tests/tpch"
)

// stopSender stops the process that sends the database's stream while f runs.
func stopSender(t *testing.T, w *world, f func()) {
	t.Helper()
	var pid int
	if _, err := fmt.Sscan(w.source.one("select pid from pg_stat_replication join pg_stat_activity a using (pid) where a.datname = current_database()"), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}()
	f()
}

// mirror-check in short, with faults, and over sources of other versions.
func TestMirrorCheck(t *testing.T) {
	for i, source := range []string{"", "16", "18"} {
		t.Run("source "+source, func(t *testing.T) {
			o := mirrorcheck.Options{Duration: 25 * time.Second, Seed: uint64(i + 1), Quick: true, Faults: 3 * time.Second, Barriers: 8 * time.Second, Readers: 2, Say: t.Logf}
			if source != "" {
				other, err := foreign.SourceEnv(env.Root, source)
				if err != nil {
					t.Fatal(err)
				}
				o.Source, o.Duration, o.Faults = other, 10*time.Second, 0
			}
			report, err := mirrorcheck.Check(context.Background(), env, o)
			if err != nil {
				t.Fatal(err)
			}
			if report.Queries < 50 || report.Mirrored*2 < report.Queries || report.Compared == 0 || report.Commits < 100 {
				t.Errorf("%s", report)
			}
		})
	}
}

// After the daemon has ended, queries fail or are executed by the next one, which loads the
// mirrors again when a query wants them.
func TestDaemonRestarts(t *testing.T) {
	w := newWorld(t, startFor(t, foreign.Options{}), accounts)
	w.imports(nil, "debit", "credit")
	const join = "select count(*), sum(debit.amount + credit.amount) from debit join credit using (id)"
	w.same(join)
	if err := w.Daemon.Kill(); err != nil {
		t.Fatal(err)
	}
	w.local.fails("08001", "gpujoind", join)
	w.source.exec("update debit set amount = amount + 5")
	d, err := w.Local.StartDaemon(harness.DaemonOptions{"calibrate": "false", "extent-size": "1MB", "memory-budget": "1GB"})
	if err != nil {
		t.Fatal(err)
	}
	w.Daemon = d
	eventually(t, "a query succeeds", func() bool { return w.local.Exec(bounded(t), join) == nil })
	w.same(join)
	eventually(t, "the tables are mirrored again", func() bool { return w.local.plan(join).Mirrored == 2 })
	w.same(join)
}

// A foreign server that fails says nothing of the daemon: other joins go on in it.
func TestSourceFailsAlone(t *testing.T) {
	w := newWorld(t, shared, small+"create view broken as select id, 1 / (id - 50) as v from t")
	w.imports(nil)
	w.local.exec(`create table a as select i from generate_series(1, 20000) i; create table b as select i from generate_series(1, 20000) i; analyze a, b;
		set gpujoin.debug_force = on`)
	const join = "select count(*) from a join b using (i)"
	for _, sql := range []string{"select count(v) from broken", "select count(v) from broken join a on a.i = broken.id"} {
		for range 3 {
			w.local.fails("22012", "division by zero", sql)
		}
		if p := w.local.plan(join); p.Jobs != 1 || len(p.Fallbacks) != 0 {
			t.Errorf("after %s: %d jobs, %q", sql, p.Jobs, p.Fallbacks)
		}
	}
}

// The queries of TPC-H over foreign tables return the source's rows, forced or not.
func TestTPCH(t *testing.T) {
	const sf = 0.01
	w := newWorld(t, shared, "")
	if err := tpch.Load(bounded(t), env, w.source.Session, sf, func(string) {}); err != nil {
		t.Fatal(err)
	}
	w.imports(nil, tpch.Tables...)
	for _, table := range tpch.Tables {
		w.local.exec("analyze " + table)
		w.same("select * from " + table)
	}
	for n := range tpch.Queries {
		sql, err := tpch.Query(n+1, sf)
		if err != nil {
			t.Fatal(err)
		}
		want := w.source.query(sql)
		for _, forced := range []string{"off", "on"} {
			w.local.exec("set gpujoin.debug_force = " + forced)
			if d := harness.SameRows(want, w.local.query(sql)); d != "" {
				t.Errorf("query %d, forced %s: %s", n+1, forced, d)
			}
			if p := w.local.plan(sql); p.Mirrored == 0 || p.Direct > 0 || p.Positions != 1 || p.Fault() != "" {
				t.Errorf("query %d, forced %s: %d mirrored, %d direct, %d positions, %s", n+1, forced, p.Mirrored, p.Direct, p.Positions, strings.Join(p.Fallbacks, "; "))
			}
		}
	}
}
