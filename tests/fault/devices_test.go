package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
)

// explained executes the query and returns the properties of its join node.
func (w *world) explained(t *testing.T, s *harness.Session, sql string) harness.Node {
	t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	plan, err := s.Explain(ctx, "analyze", sql)
	if err != nil {
		t.Fatal(err)
	}
	nodes := plan.OffloadJoins()
	if len(nodes) != 1 {
		t.Fatalf("%d nodes of joins", len(nodes))
	}
	return nodes[0]
}

// TestSeveralDevices: a join runs on all idle devices of the worker, of which one does not
// open. EXPLAIN and the views say so. If the worker dies, the cores return the right rows.
func TestSeveralDevices(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "0,1,-1,2")
	w := workerWorld(t)
	s := w.proxied(t, serial)

	for _, sql := range []string{theJoin, theSum} {
		w.right(t, sql, <-ask(s, sql))
		g := w.explained(t, s, sql)
		if g.Text("Provider") != "cuda" || g.Number("Devices") != 3 || !strings.HasSuffix(g.Joins()[0].Text("Algorithm"), " x3") {
			t.Errorf("%s ran on %s, %v devices, by %s", sql, g.Text("Provider"), g.Number("Devices"), g.Joins()[0].Text("Algorithm"))
		}
	}
	parallel := w.proxied(t, "set max_parallel_workers_per_gather = 2")
	w.right(t, theJoin, <-ask(parallel, theJoin))

	states := query(t, s, "select state, reason from gpujoin.devices where provider = 'cuda' order by device")
	if got := strings.Join(states.Rows, "; "); len(states.Rows) != 4 || strings.Count(got, "ready") != 3 || !strings.Contains(states.Rows[3], "does not open") {
		t.Errorf("devices: %s", got)
	}
	links := query(t, s, "select count(*), min(gbps), max(latency_us), bool_and(source <> target) from gpujoin.links where kind = 'simulated'")
	if want := "6"; len(links.Rows) != 1 || !strings.Contains(links.Rows[0], want) {
		t.Errorf("links: %q", links.Rows)
	}

	out, err := w.Cluster.Output("check", "--socket", w.Daemon.Socket, "--provider", "cuda")
	if err != nil || strings.Count(out, "512 MB for joins") != 3 || !strings.Contains(out, "does not open") {
		t.Errorf("%v: %s", err, out)
	}

	w.killedDuring(t, s,
		moment{"when it runs", harness.MsgRunning, 1, rightRows},
		moment{"after the first rows", harness.MsgResult, 3, either})

	t.Run("cancelled after the first rows", func(t *testing.T) {
		w.workerReady(t)
		h := w.Proxy.HoldFrame(harness.MsgResult, 3)
		done := ask(s, theJoin)
		reached(t, h, done)
		query(t, w.Witness, fmt.Sprintf("select pg_cancel_backend(%d)", s.PID()))
		h.Release()
		ended(t, (<-done).err, "57014")
		w.unharmed(t, s)
		if g := w.explained(t, s, theJoin); g.Number("Devices") != 3 {
			t.Errorf("%v devices afterwards", g.Number("Devices"))
		}
	})
}

// TestForcedStrategy: the daemon's setting says how devices execute a join. Where they cannot,
// they execute it as without the setting, and EXPLAIN says why.
func TestForcedStrategy(t *testing.T) {
	for strategy, c := range map[string]struct {
		devices float64
		reason  string
	}{
		"alone":     {devices: 1},
		"replicate": {devices: 2},
		"divide":    {2, "not divide: devices do not partition inputs together"}, // simulated ones cannot
		"exchange":  {2, "not exchange: devices exchange no rows"},               // these cannot
		"spread":    {2, "not spread: devices make no table together"},
		"hybrid":    {2, "not hybrid: devices make no table together"},
	} {
		t.Run(strategy, func(t *testing.T) {
			t.Setenv("CUDA_VISIBLE_DEVICES", "0,1")
			t.Setenv("GPUJOIND_CUDA_STRATEGY", strategy)
			w := workerWorld(t)
			s := w.proxied(t, serial)
			for _, sql := range []string{theJoin, theSum} {
				w.right(t, sql, <-ask(s, sql))
				g := w.explained(t, s, sql)
				used := strategy
				if c.reason != "" {
					used = "replicate"
				}
				if g.Text("Provider") != "cuda" || g.Text("Strategy") != used || g.Number("Devices") != c.devices || g.Text("Strategy Reason") != c.reason || g.Text("One Device") != "" {
					t.Errorf("%s ran on %v devices of %s by %q: %q, %q", sql, g.Number("Devices"), g.Text("Provider"), g.Text("Strategy"), g.Text("Strategy Reason"), g.Text("One Device"))
				}
			}
		})
	}
}

// TestADeviceIsFull: if one of several devices has too little memory, another one returns
// the right rows, and EXPLAIN says why it worked alone.
func TestADeviceIsFull(t *testing.T) {
	for _, visible := range []string{"0,1:memory", "0:memory,1"} {
		t.Run(visible, func(t *testing.T) {
			t.Setenv("CUDA_VISIBLE_DEVICES", visible)
			w := workerWorld(t)
			s := w.proxied(t, serial)
			w.right(t, theJoin, <-ask(s, theJoin))
			g := w.explained(t, s, theJoin)
			if why := g.Text("One Device"); g.Text("Provider") != "cuda" || g.Text("Strategy") != "alone" || !strings.Contains(why, "device memory") || g.Text("Provider Fallback") != "" {
				t.Errorf("ran on %s: %q, %q", g.Text("Provider"), why, g.Text("Provider Fallback"))
			}
		})
	}
}

// TestAPeerIsRefused: if a device is refused access to the memory of another one when a job
// has begun, one device returns the right rows, and EXPLAIN has one reason. The devices go on
// to serve jobs, of which the next ones meet the same.
func TestAPeerIsRefused(t *testing.T) {
	for _, visible := range []string{"0,1:peer", "0:peer,1", "0,1,2:peer"} {
		t.Run(visible, func(t *testing.T) {
			t.Setenv("CUDA_VISIBLE_DEVICES", visible)
			w := workerWorld(t)
			s := w.proxied(t, serial)
			for _, sql := range []string{theJoin, theSum, theJoin} {
				w.right(t, sql, <-ask(s, sql))
				g := w.explained(t, s, sql)
				if why := g.Text("One Device"); g.Text("Provider") != "cuda" || strings.Count(why, "was refused access") != 1 || g.Text("Provider Fallback") != "" || g.Number("Devices") > 1 {
					t.Errorf("ran on %v devices of %s: %q, %q", g.Number("Devices"), g.Text("Provider"), why, g.Text("Provider Fallback"))
				}
			}
			states := query(t, s, "select string_agg(distinct state, ', ') from gpujoin.devices where provider = 'cuda'")
			if got := strings.Join(states.Rows, "; "); !strings.Contains(got, "ready") {
				t.Errorf("devices: %s", got)
			}
		})
	}
}

// TestPeerAccessIsLost: if a device loses access to the memory of another one while its
// kernels store there, its context is lost, which only a new process mends. The cores return
// the right rows, with one reason; the worker starts again, and several devices execute the
// next job.
func TestPeerAccessIsLost(t *testing.T) {
	lose := faultFile(t)
	for _, visible := range []string{"0:lost=" + lose + ",1", "0,1,2:lost=" + lose} {
		t.Run(strings.ReplaceAll(visible, lose, "FILE"), func(t *testing.T) {
			t.Setenv("CUDA_VISIBLE_DEVICES", visible)
			devices := float64(strings.Count(visible, ",") + 1)
			w := workerWorld(t)
			s := w.proxied(t, serial)
			together := func() {
				t.Helper()
				w.workerReady(t)
				if g := w.explained(t, s, theJoin); g.Number("Devices") != devices || g.Text("Provider Fallback") != "" {
					t.Errorf("ran on %v devices of %s, because %q", g.Number("Devices"), g.Text("Provider"), g.Text("Provider Fallback"))
				}
				w.right(t, theJoin, <-ask(s, theJoin))
			}
			together()
			for i, end := range []func(){
				func() {
					g := w.explained(t, s, theJoin)
					if why := g.Text("Provider Fallback"); g.Text("Provider") != "cpu" || strings.Count(why, "illegal address") != 1 || strings.Count(why, "device lost") != 1 || g.Text("One Device") != "" {
						t.Errorf("ran on %s: %q, %q", g.Text("Provider"), why, g.Text("One Device"))
					}
				},
				func() { w.right(t, theSum, <-ask(s, theSum)) },
			} {
				pid := w.worker(t)
				if err := os.WriteFile(lose, nil, 0o666); err != nil {
					t.Fatal(err)
				}
				end()
				if _, err := os.Stat(lose); err == nil {
					t.Fatal("no device was lost")
				}
				w.restarted(t, i+1)
				together()
				if w.worker(t) == pid {
					t.Error("the process is the same")
				}
			}
			w.unharmed(t, s)
		})
	}
}

// faultFile returns the path of a file whose existence causes a fault of a worker, which
// removes it.
func faultFile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(sqltest.Env.Work, "fault")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, sqltest.Env.Account.UID, sqltest.Env.Account.GID); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "fault")
}

// TestADeviceHangs: a kernel does not end, but the worker answers. A cancel, a timeout or the
// end of the backend ends the statement at once. The daemon gives the worker some time to end
// the job, in which others run, and then kills it. The device serves again, and nothing of the
// job is left.
func TestADeviceHangs(t *testing.T) {
	for _, visible := range []string{"0:hang=", "0,1:hang="} {
		hang := faultFile(t)
		t.Run(visible+"FILE", func(t *testing.T) {
			t.Setenv("CUDA_VISIBLE_DEVICES", visible+hang)
			w := workerWorld(t)
			for i, end := range []struct{ sql, state string }{
				{"", "57014"}, // the statement's own timeout
				{"select pg_cancel_backend(%d)", "57014"},
				{"select pg_terminate_backend(%d)", "57P01"},
			} {
				w.workerReady(t)
				s := w.proxied(t, serial)
				if end.sql == "" {
					query(t, s, "set statement_timeout = '1s'")
				}
				pid := w.worker(t)
				if err := os.WriteFile(hang, nil, 0o666); err != nil {
					t.Fatal(err)
				}
				done := ask(s, theJoin)
				for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
					if _, err := os.Stat(hang); err != nil {
						break
					}
					if time.Now().After(deadline) {
						t.Fatal("no device hangs")
					}
				}
				if end.sql != "" {
					query(t, w.Witness, fmt.Sprintf(end.sql, s.PID()))
				}
				ended(t, (<-done).err, end.state)
				if w.worker(t) != pid || w.device(t) != "ready" {
					t.Error("the statement waited until the worker was killed")
				}
				other := w.proxied(t, serial)
				w.right(t, theJoin, <-ask(other, theJoin))
				w.restarted(t, i+1)
				if log := w.Daemon.Log(); !strings.Contains(log, "a cancelled join did not stop within") {
					t.Errorf("the log has no reason:\n%s", w.Daemon.LogTail(5))
				}
				w.workerReady(t)
				if provider, why := w.ranOn(t, other); provider != "cuda" {
					t.Errorf("ran on %s afterwards: %s", provider, why)
				}
				w.unharmed(t, other)
			}
		})
	}
}

// restarted waits until the worker has been restarted n times.
func (w *world) restarted(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		r := query(t, w.Witness, "select distinct restarts from gpujoin.devices where provider = 'cuda'")
		switch got := strings.Join(r.Rows, " "); {
		case got == strconv.Itoa(n):
			return
		case time.Now().After(deadline):
			t.Fatalf("%s restarts, want %d:\n%s", got, n, w.Daemon.LogTail(20))
		}
	}
}
