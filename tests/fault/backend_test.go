package fault

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// Tests of the effect of a failing backend on all others.

// chosen returns phases by name.
func chosen(names ...string) (some []phase) {
	for _, ph := range phases {
		if slices.Contains(names, ph.name) {
			some = append(some, ph)
		}
	}
	return some
}

// awaitWorkers waits until a leader has parallel workers.
func awaitWorkers(t *testing.T, w *world, leader int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no parallel worker comes")
		}
		if len(query(t, w.Witness, fmt.Sprintf("select pid from pg_stat_activity where leader_pid = %d", leader)).Rows) > 0 {
			return
		}
	}
}

// Terminating the workers of a parallel node ends their query at once. All
// workers are signalled, because one with its part of the result may end before
// the signal arrives. If the leader takes part, the held frame can be the
// leader's own while all workers are done, so that phase is tested without the
// leader.
func TestTerminateWorker(t *testing.T) {
	w := theWorld(t)
	for _, ph := range chosen("mid feed", "fed ok", "running", "mid result") {
		for _, leader := range []string{"on", "off"} {
			if ph.name == "mid result" && leader == "on" {
				continue
			}
			t.Run(ph.name+", leader "+leader, func(t *testing.T) {
				point.Point{What: "terminated", Process: worker, Moment: ph.name, Shape: parallelJoin + ", leader " + leader, Expect: "error 57P01"}.Announce(t)
				s := w.proxied(t, waits, "set max_parallel_workers_per_gather = 2; set parallel_leader_participation = "+leader)
				h := w.Proxy.HoldFrame(ph.msg, ph.nth)
				done := ask(s, theJoin)
				reached(t, h, done)
				awaitWorkers(t, w, s.PID())
				signal(t, w, fmt.Sprintf("select bool_or(pg_terminate_backend(pid)) from pg_stat_activity where leader_pid = %d", s.PID()))
				ended(t, soon(t, done).err, "57P01")
				h.Release()
				w.right(t, theJoin, <-ask(s, theJoin))
				w.unharmed(t, s)
			})
		}
	}
}

// A stopped backend does not keep others from the daemon.
func TestStoppedBackend(t *testing.T) {
	w := theWorld(t)
	for _, ph := range chosen("queue", "mid feed", "running", "mid result") {
		t.Run(ph.name, func(t *testing.T) {
			point.Point{What: "stopped", Process: oneBackend, Moment: ph.name, Shape: serialJoin, Expect: "others are offloaded; " + point.AllRows}.Announce(t)
			s := w.proxied(t, waits, serial)
			h := w.Proxy.HoldFrame(ph.msg, ph.nth)
			done := ask(s, theJoin)
			reached(t, h, done)
			if err := syscall.Kill(s.PID(), syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			h.Release()
			other := w.Session(t, forced)
			joins := reportOf(t, other).Totals.Joins
			for range 5 {
				w.right(t, theJoin, soon(t, ask(other, theJoin)))
			}
			if now := reportOf(t, other).Totals.Joins; now < joins+5 {
				t.Errorf("%d joins of 5 were offloaded", now-joins)
			}
			_ = other.Close()
			if err := syscall.Kill(s.PID(), syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			w.right(t, theJoin, <-done)
			w.unharmed(t, s)
		})
	}
}

// A backend's crash ends the server's other sessions, as always; the daemon
// holds nothing of theirs, and serves later ones.
func TestServerCrash(t *testing.T) {
	point.Point{What: "killed", Process: oneBackend, Moment: "mid feed, and an open cursor", Shape: parallelJoin,
		Expect: "PostgreSQL's crash recovery; the same daemon goes on"}.Announce(t)
	w := newWorld(t, nil)
	expected := w.Expect(t, theJoin)
	cursor := w.Session(t, forced, "begin; declare c no scroll cursor for "+theJoin, "fetch 10 from c")
	s := w.proxied(t, waits, "set max_parallel_workers_per_gather = 2")
	h := w.Proxy.HoldFrame(harness.MsgFilled, 2)
	done := ask(s, theJoin)
	reached(t, h, done)
	if n := len(reportOf(t, w.Witness).Jobs); n != 2 {
		t.Errorf("%d jobs instead of 2", n)
	}
	if err := syscall.Kill(cursor.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if a := soon(t, done); a.err == nil {
		t.Error("a query survived the crash")
	}
	h.Release()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		again, err := w.Cluster.Connect(t.Context())
		if err == nil {
			_ = again.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not come back: %v", err)
		}
	}
	after := w.Session(t, forced)
	settled(t, after)
	joins := reportOf(t, after).Totals.Joins
	if d := harness.SameRows(expected, query(t, after, theJoin)); d != "" {
		t.Error(d)
	}
	if now := reportOf(t, after).Totals.Joins; now != joins+2 {
		t.Errorf("%d joins were offloaded after the crash instead of two", now-joins)
	}
}

// forcedGather puts a Gather on every plan that may have one; PostgreSQL 16
// renamed the setting.
const forcedGather = `select set_config(name, 'regress', false) from pg_settings
	where name in ('force_parallel_mode', 'debug_parallel_query')`

// A serial node in a parallel worker, where the server puts it for tests.
func TestKillUnderForcedGather(t *testing.T) {
	w := theWorld(t)
	for _, ph := range chosen("hello", "mid feed", "running", "mid result") {
		t.Run(ph.name, func(t *testing.T) {
			point.Point{What: "killed", Process: daemon, Moment: ph.name, Shape: "join in a parallel worker", Expect: ph.parallel.String()}.Announce(t)
			s := w.proxied(t, serial, "set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 1000000", forcedGather)
			h := w.Proxy.HoldFrame(ph.msg, ph.nth)
			done := ask(s, theJoin)
			reached(t, h, done)
			if err := w.Daemon.Kill(); err != nil {
				t.Fatal(err)
			}
			h.Release()
			w.check(t, ph.parallel, theJoin, <-done)
			w.unharmed(t, s)
		})
	}
}
