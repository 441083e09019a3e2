package fault

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"gpujoin/tests/harness"
)

// perRow opens a job for each of 200 outer rows.
const perRow = `select i, (select count(*) from dim d join tiny t on d.k = t.g where d.v <= i % 5)
	from generate_series(1, 200) i`

// framesSeen counts the frames of a type until the test's end.
func framesSeen(t *testing.T, w *world, typ int) *atomic.Int32 {
	t.Helper()
	var n atomic.Int32
	w.Proxy.Rewrite(func(f *harness.Frame) ([]*harness.Frame, bool) {
		if f.Type == typ {
			n.Add(1)
		}
		return []*harness.Frame{f}, true
	})
	t.Cleanup(func() { w.Proxy.Rewrite(nil) })
	return &n
}

// A daemon that refuses, or does not answer, is not asked for each row. Pauses
// double, so that few attempts fit into any time.
func TestBreaker(t *testing.T) {
	const most = 30 // of 200 rows
	w := theWorld(t)
	w.Expect(t, perRow)

	t.Run("offloaded", func(t *testing.T) {
		s := w.proxied(t, serial)
		n := framesSeen(t, w, harness.MsgOpen)
		w.right(t, perRow, <-ask(s, perRow))
		if n.Load() < 100 {
			t.Errorf("only %d jobs although the daemon is well", n.Load())
		}
	})
	t.Run("stopped", func(t *testing.T) {
		s := w.proxied(t, serial, "set gpujoin.connect_timeout = '200ms'")
		n := framesSeen(t, w, harness.MsgHello)
		goOn := w.stopped(t)
		w.right(t, perRow, soon(t, ask(s, perRow)))
		if n.Load() == 0 || n.Load() > most {
			t.Errorf("%d connections", n.Load())
		}
		if why := fallback(t, s, theJoin); !strings.Contains(why, "did not answer lately") {
			t.Errorf("the next query falls back because of %q", why)
		}
		goOn()
		w.unharmed(t, s)
	})
	t.Run("busy", func(t *testing.T) {
		s := w.proxied(t, serial, "set gpujoin.queue_timeout = '200ms'")
		opens := 0
		w.Proxy.Rewrite(func(f *harness.Frame) ([]*harness.Frame, bool) {
			if f.Type == harness.MsgOpen {
				opens++
			}
			if f.Type == harness.MsgAdmitted {
				text := "the memory budget is in use"
				body := append([]byte{4, 0, 0, 0, byte(len(text)), 0, 0, 0}, text...)
				return []*harness.Frame{harness.NewFrame(harness.MsgFailed, body)}, true
			}
			return []*harness.Frame{f}, true
		})
		w.right(t, perRow, soon(t, ask(s, perRow)))
		w.Proxy.Rewrite(nil)
		if opens == 0 || opens > most {
			t.Errorf("%d jobs", opens)
		}
		w.unharmed(t, s)
	})
	for _, workers := range []int{0, 2} {
		t.Run(fmt.Sprintf("no daemon, %d workers", workers), func(t *testing.T) {
			// planned while there is a daemon
			s := w.proxied(t, fmt.Sprintf("set max_parallel_workers_per_gather = %d", workers),
				"prepare p as "+perRow, "set plan_cache_mode = force_generic_plan")
			w.right(t, perRow, <-ask(s, "execute p"))
			if err := w.Daemon.Kill(); err != nil {
				t.Fatal(err)
			}
			w.right(t, perRow, soon(t, ask(s, "execute p")))
			w.unharmed(t, s)
		})
	}
}

// The leader spares its workers, which are new processes in each query.
func TestBreakerParallel(t *testing.T) {
	w := theWorld(t)
	s := w.proxied(t, "set max_parallel_workers_per_gather = 2; set gpujoin.connect_timeout = '1s'")
	n := framesSeen(t, w, harness.MsgHello)
	goOn := w.stopped(t)
	w.right(t, theSum, soon(t, ask(s, theSum)))
	before := n.Load()
	w.right(t, theSum, soon(t, ask(s, theSum)))
	if before == 0 || n.Load() != before {
		t.Errorf("%d connections, then %d", before, n.Load())
	}
	goOn()
	w.unharmed(t, s)
}

// A fallback is logged once a minute, not once a row, and without the query's
// text, which may contain data.
func TestFallbackIsLogged(t *testing.T) {
	w := theWorld(t)
	logged := func() string {
		var lines []string
		for line := range strings.Lines(w.Cluster.Server().Log()) {
			if strings.Contains(line, "gpujoin runs a native plan") || strings.Contains(line, "Query identifier") || strings.Contains(line, "generate_series(1, 200)") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	s := w.Session(t, forced, serial, "set compute_query_id = on; begin")
	exec(t, s, "declare c cursor for "+perRow)
	exec(t, s, "set gpujoin.socket = '/nowhere'") // only the planner asks for the status file
	before := logged()
	query(t, s, "fetch all from c")
	exec(t, s, "commit")
	added := strings.TrimPrefix(logged(), before)
	if strings.Count(added, "\n") != 2 || !strings.Contains(added, "could not connect") || strings.Contains(added, "Query identifier: 0") {
		t.Errorf("the server's log got these lines:\n%s", added)
	}
	w.unharmed(t, s)
}
