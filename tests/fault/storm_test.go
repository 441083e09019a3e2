package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
	"gpujoin/tests/harness/sqltest"
)

// Many sessions are cancelled and terminated at random moments. Each statement returns the
// right rows, or the error that was asked for.
func TestSignalStorm(t *testing.T) {
	for _, shape := range []struct{ name, settings, sql string }{
		{serialJoin, serial, theJoin},
		{parallelJoin, "set max_parallel_workers_per_gather = 2;", theJoin},
		{parallelBlock, blocks + "; set max_parallel_workers_per_gather = 2;", theBlock},
	} {
		t.Run(shape.name, func(t *testing.T) {
			point.Point{What: "cancelled or terminated, again and again", Process: "8 backends", Moment: "at random for 4 s", Shape: shape.name, Expect: "all rows, or error 57014 or 57P01"}.Announce(t)
			w := theWorld(t)
			expected := w.Expect(t, shape.sql)
			end := time.Now().Add(4 * time.Second)
			var clients sync.WaitGroup
			for range 8 {
				clients.Go(func() { w.stormed(t, end, expected, shape.settings, shape.sql) })
			}
			signals := 0
			for time.Now().Before(end) {
				kind := []string{"cancel", "terminate"}[rand.IntN(2)]
				exec(t, w.Witness, fmt.Sprintf(`select pg_%s_backend(pid) from (select pid from pg_stat_activity
					where application_name = 'storm' and state = 'active' order by random() limit 1) s`, kind))
				signals++
				time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
			}
			clients.Wait()
			t.Logf("%d signals", signals)
			w.unharmed(t, nil)
		})
	}
}

// stormed runs a statement until the end, in a new session whenever the last one was ended.
func (w *world) stormed(t *testing.T, end time.Time, expected *harness.Result, settings, sql string) {
	for time.Now().Before(end) {
		s, err := w.Cluster.ConnectWith(context.Background(), "application_name", "storm")
		if err != nil {
			t.Errorf("no connection: %v", err)
			return
		}
		if a := <-ask(s, sqltest.Forced+settings); a.err != nil && !signalled(a.err) {
			t.Error(a.err)
		}
		for time.Now().Before(end) && !s.Conn().IsClosed() {
			a := <-ask(s, sql)
			switch {
			case a.err == nil:
				if d := harness.SameRows(expected, a.Result); d != "" {
					point.Wrong(t, "%s", d)
				}
			case !signalled(a.err) && !s.Conn().IsClosed():
				t.Error(a.err)
			}
		}
		_ = s.Close() // it may have been ended
	}
}

// signalled reports whether an error is one that a signal causes.
func signalled(err error) bool {
	state := harness.SQLState(err)
	return state == "57014" || state == "57P01"
}
