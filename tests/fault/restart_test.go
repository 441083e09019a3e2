package fault

import (
	"syscall"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// The server stops in each way while jobs run, and starts again: the daemon holds nothing of
// theirs, and serves the new server.
func TestServerRestarts(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal syscall.Signal
	}{{"fast shutdown", syscall.SIGINT}, {"immediate shutdown", syscall.SIGQUIT}} {
		for _, ph := range chosen("queue", "mid feed", "mid result") {
			t.Run(c.name+", "+ph.name, func(t *testing.T) {
				point.Point{What: c.name + " and start", Process: theServer, Moment: ph.name, Shape: parallelJoin, Expect: "the query fails; the same daemon goes on"}.Announce(t)
				w := newWorld(t, nil)
				expected := w.Expect(t, theJoin)
				s := w.proxied(t, waits, "set max_parallel_workers_per_gather = 2")
				h, done := w.held(t, s, theJoin, ph.msg, ph.nth)
				if err := w.Cluster.Server().Stop(20*time.Second, c.signal); err != nil {
					t.Error(err)
				}
				if a := soon(t, done); a.err == nil {
					t.Error("the query survived its server")
				}
				h.Release()
				if err := w.Cluster.Start(); err != nil {
					t.Fatal(err)
				}
				after := w.Session(t, forced)
				settled(t, after)
				w.Unleaked(t, after)
				if text := fallbackOf(t, after, theSum); text != "" {
					t.Errorf("after the restart: Fallback %q", text)
				}
				if d := harness.SameRows(expected, query(t, after, theJoin)); d != "" {
					point.Wrong(t, "%s", d)
				}
			})
		}
	}
}
