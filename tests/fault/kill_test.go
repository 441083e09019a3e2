package fault

import (
	"fmt"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// check compares a statement's outcome with the expected one.
func (w *world) check(t *testing.T, e end, sql string, a answer) {
	t.Helper()
	switch {
	case e == rightRows || e == either && a.err == nil:
		w.right(t, sql, a)
	default:
		lost(t, a.err)
	}
}

// The daemon is killed in each phase of a serial node's job.
func TestKillSerial(t *testing.T) {
	w := theWorld(t)
	for _, ph := range phases {
		t.Run(ph.name, func(t *testing.T) {
			point.Point{What: "killed", Process: daemon, Moment: ph.name, Shape: serialJoin, Expect: ph.serial.String()}.Announce(t)
			s := w.proxied(t, serial)
			h := w.Proxy.HoldFrame(ph.msg, ph.nth)
			done := ask(s, theJoin)
			reached(t, h, done)
			if err := w.Daemon.Kill(); err != nil {
				t.Fatal(err)
			}
			h.Release()
			w.check(t, ph.serial, theJoin, <-done)
			// The session can plan without a daemon, and with the next one.
			w.right(t, theSum, <-ask(s, theSum))
			w.unharmed(t, s)
		})
	}
}

// The connection is cut in each phase; the daemon continues.
func TestCutSerial(t *testing.T) {
	w := theWorld(t)
	for _, ph := range phases {
		t.Run(ph.name, func(t *testing.T) {
			point.Point{What: "connection cut", Process: daemon, Moment: ph.name, Shape: serialJoin, Expect: ph.cut.String()}.Announce(t)
			s := w.proxied(t, serial)
			h := w.Proxy.HoldFrame(ph.msg, ph.nth)
			done := ask(s, theJoin)
			reached(t, h, done)
			h.Cut()
			w.check(t, ph.cut, theJoin, <-done)
			w.unharmed(t, s)
		})
	}
}

// The daemon is killed in each phase of a parallel node's job.
func TestKillParallel(t *testing.T) {
	w := theWorld(t)
	all := append([]phase{
		// A worker may attach after the others have the outcome.
		{"attach", harness.MsgAttach, 1, either, either, either},
		{"attached", harness.MsgAdmitted, 2, either, either, either},
	}, phases...)
	for i, ph := range all {
		// Every phase with two workers, every second one also with another setting.
		type config struct {
			workers, launched int
			leader            string
		}
		configs := []config{{2, 2, "on"}}
		others := []config{{4, 4, "off"}, {2, 0, "on"}, {2, 1, "off"}, {4, 4, "on"}, {1, 1, "on"}}
		if i >= 2 {
			configs = append(configs, others[i%len(others)])
		}
		for _, c := range configs {
			t.Run(fmt.Sprintf("%s, %d workers of %d, leader %s", ph.name, c.launched, c.workers, c.leader), func(t *testing.T) {
				point.Point{What: "killed", Process: daemon, Moment: ph.name, Expect: ph.parallel.String(),
					Shape: fmt.Sprintf("%s, %d workers of %d, leader %s", parallelJoin, c.launched, c.workers, c.leader)}.Announce(t)
				s := w.proxied(t, fmt.Sprintf(
					"set max_parallel_workers_per_gather = %d; set max_parallel_workers = %d; set parallel_leader_participation = %s",
					c.workers, c.launched, c.leader))
				parallelPlan(t, s, theJoin)
				h, done := w.held(t, s, theJoin, ph.msg, ph.nth)
				if err := w.Daemon.Kill(); err != nil {
					t.Fatal(err)
				}
				h.Release()
				w.check(t, ph.parallel, theJoin, <-done)
				w.unharmed(t, s)
			})
		}
	}
}

// parallelPlan checks that a query's OffloadJoin is parallel.
func parallelPlan(t *testing.T, s *harness.Session, sql string) {
	t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	plan, err := s.Explain(ctx, "", sql)
	if err != nil {
		t.Fatal(err)
	}
	joins := plan.OffloadJoins()
	if len(joins) != 1 || joins[0]["Parallel Aware"] != true {
		t.Fatalf("no parallel OffloadJoin: %v", plan)
	}
}

// The daemon is gone when a plan that was made for it is executed.
func TestKillBetweenPlanAndExecution(t *testing.T) {
	w := theWorld(t)
	point.Point{What: "killed", Process: daemon, Moment: "between plan and execution", Shape: "prepared join, serial and parallel", Expect: point.AllRows}.Announce(t)
	for _, workers := range []int{0, 2} {
		s := w.proxied(t, fmt.Sprintf("set max_parallel_workers_per_gather = %d; set plan_cache_mode = force_generic_plan", workers))
		exec(t, s, "prepare p as "+theJoin)
		w.right(t, theJoin, <-ask(s, "execute p"))
		if err := w.Daemon.Kill(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := bounded()
		plan, err := s.Explain(ctx, "analyze, timing off", "execute p")
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		joins := plan.OffloadJoins()
		if len(joins) != 1 || joins[0].Text("Fallback") == "" {
			t.Errorf("no OffloadJoin that fell back: %v", joins)
		}
		w.right(t, theJoin, <-ask(s, "execute p"))
		w.unharmed(t, s)
		w.right(t, theJoin, <-ask(s, "execute p"))
		w.unharmed(t, s)
	}
}
