package fault

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
	"gpujoin/tests/harness/sqltest"
)

// workerWorld returns a world whose daemon has a worker: the cpu provider in
// place of CUDA, and an empty file in place of the driver.
func workerWorld(t *testing.T) *world {
	t.Helper()
	program, err := sqltest.Env.BuildWorker()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", filepath.Dir(program))
	w := newWorld(t, harness.DaemonOptions{"provider": "cuda", "cuda-plugin": program})
	w.workerReady(t)
	w.Renewed(t)
	return w
}

// workerReady waits until the daemon has a worker that is ready.
func (w *world) workerReady(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if w.device(t) == "ready" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the worker is %s:\n%s", w.device(t), w.Daemon.LogTail(20))
		}
	}
}

// device returns the state of the worker's first device.
func (w *world) device(t *testing.T) string {
	t.Helper()
	r := query(t, w.Witness, "select state from gpujoin.devices where provider = 'cuda' and device = 0")
	return strings.Join(r.Rows, " ")
}

// worker returns the worker's process id.
func (w *world) worker(t *testing.T) int {
	t.Helper()
	pid, err := harness.ChildOf(w.Daemon.PID())
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func send(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// ranOn executes the query and returns the provider that executed the join, and
// why no preferred one did.
func (w *world) ranOn(t *testing.T, s *harness.Session) (provider, fallback string) {
	t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	plan, err := s.Explain(ctx, "analyze", theSum)
	if err != nil {
		t.Fatal(err)
	}
	joins := plan.OffloadJoins()
	if len(joins) != 1 || plan.OffloadedJoins() != 1 {
		t.Fatalf("not offloaded: %v", joins)
	}
	// Every provider reports its phases.
	if phases := joins[0].Joins()[0].Phases(); len(phases) < 2 || phases[len(phases)-1].Text("Name") != "gather" {
		t.Errorf("phases %v", phases)
	}
	return joins[0].Text("Provider"), joins[0].Text("Provider Fallback")
}

// moment is a moment of a job: a frame, and how a query may end whose worker dies then.
type moment struct {
	name string
	msg  int
	nth  int
	end  end
}

// killedDuring kills the worker at some moments of a join.
func (w *world) killedDuring(t *testing.T, s *harness.Session, moments ...moment) {
	for _, m := range moments {
		t.Run("killed "+m.name, func(t *testing.T) {
			point.Point{What: "killed", Process: "worker for the GPU", Moment: m.name, Shape: serialJoin, Expect: m.end.String()}.Announce(t)
			w.workerReady(t)
			h := w.Proxy.HoldFrame(m.msg, m.nth)
			done := ask(s, theJoin)
			reached(t, h, done)
			send(t, w.worker(t), syscall.SIGKILL)
			time.Sleep(50 * time.Millisecond) // until the daemon notices
			h.Release()
			w.check(t, m.end, theJoin, <-done)
			w.unharmed(t, s)
		})
	}
}

// TestWorker: joins run in a worker; whatever happens to it, a query that has
// returned no rows succeeds.
func TestWorker(t *testing.T) {
	w := workerWorld(t)
	s := w.proxied(t, serial)

	t.Run("joins run there", func(t *testing.T) {
		if provider, fallback := w.ranOn(t, s); provider != "cuda" || fallback != "" {
			t.Errorf("ran on %q, because %q", provider, fallback)
		}
		w.right(t, theJoin, <-ask(s, theJoin))
		parallel := w.proxied(t, "set max_parallel_workers_per_gather = 2")
		w.right(t, theJoin, <-ask(parallel, theJoin))
		devices := query(t, s, "select device, name, state, reason is null, memory, budget, restarts from gpujoin.devices order by provider desc")
		if len(devices.Rows) != 2 || !strings.Contains(devices.Rows[0], "no GPU at all") || !strings.Contains(devices.Rows[0], "1073741824") {
			t.Errorf("%q", devices.Rows)
		}
		out, err := w.Cluster.Output("check", "--socket", w.Daemon.Socket, "--provider", "cuda")
		if err != nil || !strings.Contains(out, "no GPU at all, 512 MB for joins") {
			t.Errorf("%v: %s", err, out)
		}
	})

	// A fifth death would stop restarts for a while.
	w.killedDuring(t, s,
		moment{"while it is fed", harness.MsgFilled, 2, rightRows},
		moment{"when it runs", harness.MsgRunning, 1, rightRows},
		moment{"after the first rows", harness.MsgResult, 3, either})

	t.Run("said by EXPLAIN", func(t *testing.T) {
		w.workerReady(t)
		send(t, w.worker(t), syscall.SIGKILL)
		for w.device(t) == "ready" {
			time.Sleep(time.Millisecond)
		}
		provider, fallback := w.ranOn(t, s)
		if provider != "cpu" || !strings.Contains(fallback, "signal: killed") {
			t.Errorf("ran on %q, because %q", provider, fallback)
		}
		w.right(t, theJoin, <-ask(s, theJoin))
	})
}

// TestWorkerHangs: a hanging worker costs some seconds, during which a query
// can be cancelled.
func TestWorkerHangs(t *testing.T) {
	point.Point{What: "stopped", Process: "worker for the GPU", Moment: "run", Shape: serialJoin, Expect: point.AllRows}.Announce(t)
	w := workerWorld(t)
	s := w.proxied(t, serial)
	h := w.Proxy.HoldFrame(harness.MsgRun, 1)
	done := ask(s, theJoin)
	reached(t, h, done)
	send(t, w.worker(t), syscall.SIGSTOP)
	h.Release()
	other := w.proxied(t, serial, "set statement_timeout = '500ms'")
	ended(t, (<-ask(other, theJoin)).err, "57014")
	w.right(t, theJoin, <-done)
	if reason := query(t, s, "select reason from gpujoin.devices where provider = 'cuda'").Rows[0]; !strings.Contains(reason, "no answer to health checks") {
		t.Errorf("%q", reason)
	}
	w.unharmed(t, s)
}

// TestWorkerEndsWithDaemon: no worker survives the daemon, however that ends.
func TestWorkerEndsWithDaemon(t *testing.T) {
	point.Point{What: "killed, and terminated", Process: daemon, Moment: "a worker is idle", Shape: "none", Expect: "the worker ends"}.Announce(t)
	w := workerWorld(t)
	for _, stop := range []func(*harness.Daemon) error{(*harness.Daemon).Kill, (*harness.Daemon).Stop} {
		w.Restart(t)
		w.workerReady(t)
		pid := w.worker(t)
		if err := stop(w.Daemon); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
			if err != nil || strings.Contains(string(text), ") Z ") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the worker lives on")
			}
		}
	}
}

// TestWorkerLeaks: many queries, good and bad, leave a worker's resources as they were.
func TestWorkerLeaks(t *testing.T) {
	w := workerWorld(t)
	s := w.proxied(t)
	var before harness.Holdings
	const rounds = 6
	for round := range rounds {
		steps(t, w, s, round)
		if round != rounds/3 && round != rounds-1 {
			continue
		}
		settled(t, s)
		now, err := harness.HoldingsOf(w.worker(t))
		if err != nil {
			t.Fatal(err)
		}
		if round == rounds/3 {
			before = now
		} else if now.FDs > before.FDs+2 || now.MemFDs > 0 {
			t.Errorf("the worker holds %+v, %+v before", now, before)
		}
	}
	if restarts, err := w.Witness.One(context.Background(), "select restarts::text from gpujoin.devices where provider = 'cuda'"); err != nil || restarts != "0" {
		t.Errorf("%s restarts, %v", restarts, err)
	}
}
