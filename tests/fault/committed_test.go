package fault

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"gpujoin/shm"
	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// reading is a statement of which some rows have been read.
type reading struct {
	many *pgconn.MultiResultReader
	rows []string
}

// begin runs a statement and reads its first row. Further rows fill the socket:
// then the backend waits for the test.
func begin(t *testing.T, s *harness.Session, sql string) *reading {
	t.Helper()
	ctx, cancel := bounded()
	t.Cleanup(cancel)
	r := &reading{many: s.Conn().Exec(ctx, sql)}
	if !r.many.NextResult() || !r.many.ResultReader().NextRow() {
		t.Fatal(r.many.Close())
	}
	r.take()
	return r
}

func (r *reading) take() {
	var fields []string
	for _, v := range r.many.ResultReader().Values() {
		fields = append(fields, string(v))
	}
	r.rows = append(r.rows, strings.Join(fields, "|"))
}

// finish reads the other rows.
func (r *reading) finish() error {
	for r.many.ResultReader().NextRow() {
		r.take()
	}
	return r.many.Close()
}

// soonLost checks that a statement that has returned rows ends with the reason.
func soonLost(t *testing.T, err error, reason string) {
	t.Helper()
	lost(t, err)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && !strings.Contains(pg.Detail, reason) {
		t.Errorf("detail %q does not contain %q", pg.Detail, reason)
	}
}

// A daemon that stops for good after the first row ends the query.
func TestStoppedAfterRows(t *testing.T) {
	w := theWorld(t)
	for _, workers := range []int{0, 2} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			point.Point{What: "stopped", Process: daemon, Moment: "after the first row", Shape: fmt.Sprintf("join, %d workers", workers), Expect: point.Lost}.Announce(t)
			s := w.Session(t, forced, fmt.Sprintf(
				"set max_parallel_workers_per_gather = %d; set gpujoin.connect_timeout = '200ms'", workers))
			r := begin(t, s, theJoin)
			goOn := w.stopped(t)
			soonLost(t, r.finish(), "its process is stopped")
			released(t, s)
			goOn()
			w.unharmed(t, s)
		})
	}
	t.Run("cursor", func(t *testing.T) {
		point.Point{What: "stopped", Process: daemon, Moment: "after the first row", Shape: "cursor over a join", Expect: point.Lost}.Announce(t)
		s := w.Session(t, forced, serial, "set gpujoin.connect_timeout = '200ms'")
		exec(t, s, "begin; declare c cursor for "+theJoin)
		query(t, s, "fetch 1 from c")
		goOn := w.stopped(t)
		a := soon(t, ask(s, "fetch all from c"))
		soonLost(t, a.err, "its process is stopped")
		exec(t, s, "rollback")
		released(t, s)
		goOn()
		w.unharmed(t, s)
	})
}

// A stop that is shorter than the backend's patience is only a delay.
func TestShortStopAfterRows(t *testing.T) {
	point.Point{What: "stopped for 3 s", Process: daemon, Moment: "after the first row", Shape: serialJoin, Expect: point.AllRows}.Announce(t)
	w := theWorld(t)
	s := w.Session(t, forced, serial, "set gpujoin.connect_timeout = '1s'")
	r := begin(t, s, theJoin)
	goOn := w.stopped(t)
	time.AfterFunc(3*time.Second, goOn)
	if err := r.finish(); err != nil {
		t.Fatal(err)
	}
	if n := len(w.Expect(t, theJoin).Rows); len(r.rows) != n {
		t.Errorf("%d rows instead of %d", len(r.rows), n)
	}
	w.unharmed(t, s)
}

// After the first row a silent daemon is given up if its heartbeat is missing,
// and waited for as long as there is one.
func TestSilentAfterRows(t *testing.T) {
	w := theWorld(t)
	for _, c := range []struct {
		name  string
		pulse pulse
		ends  bool
	}{
		{"no heartbeat", pulse{every: time.Hour, share: 1000}, true},
		{"late heartbeats", pulse{every: 700 * time.Millisecond, share: 100}, false},
		{"punctual heartbeats", pulse{every: shm.BeatMS * time.Millisecond, share: 1000}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := w.proxied(t, serial, "set gpujoin.connect_timeout = '100ms'")
			h := w.Proxy.HoldFrame(harness.MsgResult, 4)
			r := begin(t, s, theJoin)
			c.pulse.play(t, w, w.Proxy.Socket)
			ended := make(chan error, 1)
			go func() { ended <- r.finish() }()
			<-h.Reached
			if c.ends {
				h2 := w.Proxy.HoldFrame(harness.MsgWelcome, 1)
				soonLost(t, <-ended, "does not answer")
				h2.Release()
			} else {
				time.Sleep(2500 * time.Millisecond)
			}
			h.Release()
			if !c.ends {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			w.unharmed(t, s)
		})
	}
}
