// Package fault tests failures in every phase of a job: the daemon is killed or stopped, a
// backend is cancelled or terminated, the budget is exhausted. A proxy between backend and
// daemon that understands frames brings both to a chosen phase. Each test ends with the
// checks of sqltest's Unharmed.
package fault

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
	"gpujoin/tests/harness/sqltest"
)

func TestMain(m *testing.M) {
	sqltest.Main(m, `
		create table big as select i as k, repeat(md5(i::text), 80000) as value from generate_series(1::int8, 3) i;
		create table named as select i as k, ('name ' || i)::name as name from generate_series(0::int8, 4999) i;
		create role plain login;
		grant select on fact, dim, tiny to plain;`)
}

// Short names for helpers.
const (
	native   = sqltest.Native
	forced   = sqltest.Forced
	serial   = "set max_parallel_workers_per_gather = 0;"
	patience = sqltest.Patience
	theJoin  = sqltest.TheJoin
	theSum   = sqltest.TheSum
)

var (
	bounded  = sqltest.Bounded
	exec     = sqltest.Exec
	query    = sqltest.Query
	reportOf = sqltest.ReportOf
	settled  = sqltest.Settled
	released = sqltest.Released
)

// Processes that faults happen to, and shapes of queries.
const (
	daemon        = "gpujoind"
	oneBackend    = "backend"
	worker        = "parallel worker"
	theServer     = "server"
	serialJoin    = "join"
	parallelJoin  = "parallel join"
	serialBlock   = "block"
	parallelBlock = "parallel block"
	overKept      = "kept table"
)

// world is a world whose sessions are disturbed.
type world struct{ *sqltest.World }

// theWorld is the world of all tests; each leaves it unchanged.
func theWorld(t *testing.T) *world {
	t.Helper()
	return &world{sqltest.Shared(t)}
}

// newWorld returns a world for one test.
func newWorld(t *testing.T, more harness.DaemonOptions) *world {
	t.Helper()
	return &world{sqltest.New(t, more)}
}

// proxied opens a session whose joins go through the proxy.
func (w *world) proxied(t testing.TB, settings ...string) *harness.Session {
	t.Helper()
	return w.Session(t, append([]string{forced, "set gpujoin.socket = '" + w.Proxy.Socket + "'"}, settings...)...)
}

// answer is the outcome of a statement.
type answer struct {
	*harness.Result
	err error
}

// ask runs a statement concurrently with the test.
func ask(s *harness.Session, sql string) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		ctx, cancel := bounded()
		defer cancel()
		r, err := s.Query(ctx, sql)
		done <- answer{r, err}
	}()
	return done
}

// reached waits until the proxy holds the frame, which must happen before the
// statement ends.
func reached(t *testing.T, h *harness.Hold, done <-chan answer) {
	t.Helper()
	select {
	case <-h.Reached:
	case a := <-done:
		t.Fatalf("the statement ended before the frame came: %v", a.err)
	case <-time.After(patience):
		t.Fatal("neither the frame nor the statement's end came")
	}
}

// held runs a statement until the proxy holds the frame: a worker that starts late may
// find nothing left to do, and then sends none.
func (w *world) held(t *testing.T, s *harness.Session, sql string, msg, nth int) (*harness.Hold, <-chan answer) {
	t.Helper()
	for range 20 {
		h := w.Proxy.HoldFrame(msg, nth)
		done := ask(s, sql)
		select {
		case <-h.Reached:
			return h, done
		case a := <-done:
			w.right(t, sql, a)
		case <-time.After(patience):
			t.Fatal("neither the frame nor the statement's end came")
		}
	}
	t.Fatal("the frame did not come in 20 statements")
	return nil, nil
}

// right compares rows with the native plan's.
func (w *world) right(t testing.TB, sql string, a answer) {
	t.Helper()
	if a.err != nil {
		t.Errorf("%s: %v", sql, a.err)
		return
	}
	if d := harness.SameRows(w.Expect(t, sql), a.Result); d != "" {
		point.Wrong(t, "%s: %s", sql, d)
	}
}

// lost checks that a statement ended with the one error for a daemon's death
// between rows.
func lost(t testing.TB, err error) {
	t.Helper()
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "08006" || pg.Hint == "" || pg.Detail == "" {
		t.Errorf("%v instead of an error 08006 with detail and hint", err)
	}
}

// ended checks an error's SQLSTATE.
func ended(t testing.TB, err error, state string) {
	t.Helper()
	if harness.SQLState(err) != state {
		t.Errorf("%v instead of an error %s", err, state)
	}
}

// unharmed checks the state after a fault and starts the daemon again if it has ended.
func (w *world) unharmed(t *testing.T, s *harness.Session) {
	t.Helper()
	w.Proxy.Rewrite(nil)
	other := w.Session(t, forced)
	w.right(t, theSum, <-ask(other, theSum)) // with or without a daemon
	_ = other.Close()                        // its connection to the daemon counts
	w.Restart(t)
	w.Unharmed(t, s)
}
