package fault

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// stopped stops the daemon until the test's end, or until goOn is called.
func (w *world) stopped(t *testing.T) (goOn func()) {
	t.Helper()
	if err := w.Daemon.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	d := w.Daemon
	resume := func() { _ = d.Signal(syscall.SIGCONT) } // fails if it has ended
	t.Cleanup(resume)
	return func() {
		t.Helper()
		since := time.Now()
		resume()
		// Until its next heartbeat the planner takes a daemon for silent that has missed many.
		for deadline := since.Add(patience); ; time.Sleep(10 * time.Millisecond) {
			if status, err := os.Stat(d.Socket + ".status"); err != nil || status.ModTime().After(since) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("the daemon has no heartbeat after it was stopped")
			}
		}
	}
}

// soon waits for the end of a statement that no longer depends on the daemon.
func soon(t *testing.T, done <-chan answer) answer {
	t.Helper()
	select {
	case a := <-done:
		return a
	case <-time.After(patience):
		t.Fatal("the statement does not end while the daemon is stopped")
		return answer{}
	}
}

// waits are settings under which only the fault ends a wait.
const waits = "set gpujoin.connect_timeout = '10min'; set gpujoin.queue_timeout = '10min';"

// way is a way to end a statement from outside, and the expected error, "" if nobody gets it.
type way struct {
	name, setting, state string
	act                  func(t *testing.T, w *world, s *harness.Session)
}

// expect returns what must follow, for reports.
func (w way) expect() string {
	if w.state == "" {
		return "the backend ends"
	}
	return "error " + w.state
}

var ways = []way{
	{"timeout", "set statement_timeout = '1500ms'", "57014", func(*testing.T, *world, *harness.Session) {}},
	{"cancel", "", "57014", func(t *testing.T, w *world, s *harness.Session) {
		signal(t, w, fmt.Sprintf("select pg_cancel_backend(%d)", s.PID()))
	}},
	{"terminate", "", "57P01", func(t *testing.T, w *world, s *harness.Session) {
		signal(t, w, fmt.Sprintf("select pg_terminate_backend(%d)", s.PID()))
	}},
	{"client gone", "", "", func(t *testing.T, w *world, s *harness.Session) {
		_ = s.Conn().Conn().Close() // like a client that dies
	}},
}

func signal(t *testing.T, w *world, sql string) {
	t.Helper()
	s := w.Session(t)
	defer s.Close()
	if r := query(t, s, sql); len(r.Rows) != 1 || r.Rows[0] != "t" {
		t.Errorf("%s: %v", sql, r.Rows)
	}
}

// goneBackend waits until a backend has ended.
func goneBackend(t *testing.T, w *world, pid int) {
	t.Helper()
	s := w.Session(t)
	defer s.Close()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		r := query(t, s, fmt.Sprintf("select 1 from pg_stat_activity where pid = %d or leader_pid = %[1]d", pid))
		if len(r.Rows) == 0 {
			return
		}
	}
	t.Errorf("backend %d does not end", pid)
}

// The daemon is stopped in a phase, and the statement is ended from outside: it
// ends at once and releases everything, although the daemon does nothing.
func TestStop(t *testing.T) {
	w := theWorld(t)
	for i, ph := range phases {
		for j, way := range ways {
			// Each phase with two ways and each way with half of the phases:
			// the serial ones here, the others parallel.
			workers := (i + j) % 2 * 2
			t.Run(fmt.Sprintf("%s, %s, %d workers", ph.name, way.name, workers), func(t *testing.T) {
				shape := serialJoin
				if workers > 0 {
					shape = parallelJoin
				}
				point.Point{What: "stopped, then " + way.name, Process: daemon + " and " + oneBackend, Moment: ph.name, Shape: shape, Expect: way.expect()}.Announce(t)
				s := w.proxied(t, waits, fmt.Sprintf("set max_parallel_workers_per_gather = %d", workers))
				pid := s.PID()
				if way.setting != "" {
					exec(t, s, way.setting)
				}
				// Other participants must not end the statement before the
				// daemon is stopped.
				h := w.Proxy.HoldAll(ph.msg, ph.nth)
				done := ask(s, theJoin)
				select {
				case <-h.Reached:
				case a := <-done: // only a timeout on a slow machine is earlier
					if way.state == "" || harness.SQLState(a.err) != way.state {
						t.Fatalf("the statement ended before the frame came: %v", a.err)
					}
					h.Release()
					w.unharmed(t, s)
					return
				}
				goOn := w.stopped(t)
				// The frame is not delivered: neither side can continue.
				way.act(t, w, s)
				a := soon(t, done)
				if way.state == "" {
					if a.err == nil {
						t.Error("the statement ended well")
					}
				} else if harness.SQLState(a.err) != "" || way.name != "terminate" {
					ended(t, a.err, way.state)
				} else if a.err == nil { // a backend that is sending rows ends without an error message
					t.Error("the statement ended well")
				}
				if way.name == "terminate" || way.name == "client gone" {
					goneBackend(t, w, pid)
				} else {
					released(t, s)
					exec(t, s, "reset statement_timeout; set gpujoin.enabled = off")
					w.right(t, theSum, <-ask(s, theSum))
				}
				h.Release()
				goOn()
				w.unharmed(t, nil)
			})
		}
	}
}

// A daemon that does not answer costs a connect timeout; the query succeeds.
func TestStoppedBeforeConnect(t *testing.T) {
	w := theWorld(t)
	for _, workers := range []int{0, 2} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			point.Point{What: "stopped", Process: daemon, Moment: "before a query", Shape: fmt.Sprintf("join, %d workers", workers), Expect: point.AllRows}.Announce(t)
			s := w.Session(t, forced, fmt.Sprintf(
				"set max_parallel_workers_per_gather = %d; set gpujoin.connect_timeout = '2s'", workers))
			goOn := w.stopped(t)
			ctx, cancel := bounded()
			defer cancel()
			plan, err := s.Explain(ctx, "analyze, timing off", theJoin)
			if err != nil {
				t.Fatal(err)
			}
			if joins := plan.OffloadJoins(); len(joins) != 1 || joins[0].Text("Fallback") == "" {
				t.Errorf("no OffloadJoin that fell back: %v", joins)
			}
			w.right(t, theJoin, <-ask(s, theJoin))
			released(t, s)
			if r := query(t, s, "select failure is not null from gpujoin.daemon_status()"); r.Rows[0] != "t" {
				t.Error("a stopped daemon has a status")
			}
			goOn()
			w.unharmed(t, s)
		})
	}
}

// A daemon that stops at any point before the first row costs one or two
// connect timeouts and then the native plan, without any other limit.
func TestStoppedBeforeRows(t *testing.T) {
	w := theWorld(t)
	for i, ph := range phases[4:11] { // from the first WANT to RUNNING
		workers := i % 2 * 2
		t.Run(fmt.Sprintf("%s, %d workers", ph.name, workers), func(t *testing.T) {
			point.Point{What: "stopped", Process: daemon, Moment: ph.name, Shape: fmt.Sprintf("join, %d workers", workers), Expect: point.AllRows}.Announce(t)
			s := w.proxied(t, fmt.Sprintf(
				"set max_parallel_workers_per_gather = %d; set gpujoin.connect_timeout = '2s'", workers))
			h := w.Proxy.HoldFrame(ph.msg, ph.nth)
			done := ask(s, theJoin)
			reached(t, h, done)
			goOn := w.stopped(t)
			w.right(t, theJoin, soon(t, done))
			released(t, s)
			goOn()
			h.Release()
			w.unharmed(t, s)
		})
	}
}

// A slow daemon that greets is waited for.
func TestSlowIsNotStopped(t *testing.T) {
	w := theWorld(t)
	s := w.proxied(t, serial, "set gpujoin.connect_timeout = '2s'")
	for _, msg := range []int{harness.MsgGrant, harness.MsgFedOK, harness.MsgRunning} {
		h := w.Proxy.HoldFrame(msg, 1)
		done := make(chan harness.Node, 1)
		go func() {
			ctx, cancel := bounded()
			defer cancel()
			plan, err := s.Explain(ctx, "analyze, timing off", theJoin)
			if err != nil {
				t.Error(err)
			}
			done <- plan
		}()
		<-h.Reached
		time.Sleep(2500 * time.Millisecond)
		h.Release()
		plan := <-done
		if joins := plan.OffloadJoins(); len(joins) != 1 || joins[0].Text("Fallback") != "" {
			t.Errorf("frame %d: no OffloadJoin, or one that fell back: %v", msg, joins)
		}
	}
	w.unharmed(t, s)
}

// An admission that never comes costs both timeouts.
func TestStoppedInQueue(t *testing.T) {
	point.Point{What: "stopped", Process: daemon, Moment: "queue", Shape: serialJoin, Expect: point.AllRows}.Announce(t)
	w := theWorld(t)
	s := w.proxied(t, serial, "set gpujoin.connect_timeout = '2s'; set gpujoin.queue_timeout = '100ms'")
	h := w.Proxy.HoldFrame(harness.MsgAdmitted, 1)
	done := ask(s, theJoin)
	reached(t, h, done)
	goOn := w.stopped(t)
	w.right(t, theJoin, soon(t, done))
	goOn()
	h.Release()
	w.unharmed(t, s)
}

// EXPLAIN ANALYZE requests statistics after the last row; without an answer it
// shows none.
func TestStoppedAtStatistics(t *testing.T) {
	w := theWorld(t)
	for _, end := range []string{"stopped", "killed"} {
		s := w.proxied(t, serial, "set gpujoin.connect_timeout = '2s'")
		h := w.Proxy.HoldFrame(harness.MsgStats, 1)
		type explained struct {
			plan harness.Node
			err  error
		}
		done := make(chan explained, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			plan, err := s.Explain(ctx, "analyze, timing off", theJoin)
			done <- explained{plan, err}
		}()
		<-h.Reached
		goOn := func() {}
		if end == "killed" {
			if err := w.Daemon.Kill(); err != nil {
				t.Fatal(err)
			}
			h.Cut()
		} else {
			goOn = w.stopped(t)
		}
		e := <-done
		if e.err != nil {
			t.Errorf("%s: %v", end, e.err)
		} else if n := e.plan.OffloadJoins()[0].Number("Actual Rows"); n != 40000 {
			t.Errorf("%s: %v rows", end, n)
		}
		goOn()
		h.Release()
		w.unharmed(t, s)
	}
}

// A fast shutdown of the server does not wait for the daemon.
func TestStoppedAtServerShutdown(t *testing.T) {
	point.Point{What: "fast shutdown while the daemon is stopped", Process: theServer, Moment: "mid feed", Shape: parallelJoin, Expect: "error 57P01, and the server ends"}.Announce(t)
	w := newWorld(t, nil)
	s := w.proxied(t, waits, "set max_parallel_workers_per_gather = 2")
	h := w.Proxy.HoldFrame(harness.MsgFilled, 2)
	done := ask(s, theJoin)
	reached(t, h, done)
	goOn := w.stopped(t)
	if err := w.Cluster.Server().Stop(10*time.Second, syscall.SIGINT); err != nil {
		t.Error(err)
	}
	ended(t, soon(t, done).err, "57P01")
	goOn()
	h.Release()
}
