package fault

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
)

var env *harness.Env

var shared = sqltest.Shared[*world]{Start: startWorld, Stop: (*world).stop}

func TestMain(m *testing.M) { sqltest.Main(m, &env, &shared) }

// Short names for helpers.
const (
	native   = sqltest.Native
	forced   = sqltest.Forced
	serial   = "set max_parallel_workers_per_gather = 0;"
	patience = sqltest.Patience
)

var (
	bounded  = sqltest.Bounded
	exec     = sqltest.Exec
	query    = sqltest.Query
	reportOf = sqltest.ReportOf
	settled  = sqltest.Settled
	released = sqltest.Released
)

// world is a cluster, a daemon, and a proxy between the two, to which backends connect.
type world struct {
	c *harness.Cluster
	d *harness.Daemon
	p *harness.Proxy

	options harness.DaemonOptions
	started string // when the postmaster started
	// witness is a session from the start: a crash of any server process would end it.
	witness *harness.Session
	native  map[string]*harness.Result // of a query, as PostgreSQL runs it
}

var daemonOptions = sqltest.DaemonOptions(nil)

var settings = sqltest.Settings(harness.Settings{"client_connection_check_interval": "'100ms'"})

// theWorld is the world of all tests; each leaves it unchanged.
func theWorld(t *testing.T) *world {
	t.Helper()
	w := shared.Get(t)
	t.Cleanup(func() {
		w.p.Rewrite(nil)
		if t.Failed() {
			t.Logf("the server's log ends:\n%s", w.c.Server().LogTail(20))
			t.Logf("the daemon's log ends:\n%s", w.d.LogTail(20))
		}
	})
	return w
}

func startWorld() (*world, error) { return startWorldWith(daemonOptions) }

func startWorldWith(options harness.DaemonOptions) (w *world, err error) {
	pair, err := env.StartPair(settings, options)
	if err != nil {
		return nil, err
	}
	w = &world{c: pair.Cluster, d: pair.Daemon, options: options, native: map[string]*harness.Result{}}
	if w.p, err = w.c.StartProxy("proxy", w.d); err != nil {
		return nil, errors.Join(err, pair.Stop())
	}
	ctx := context.Background()
	if w.witness, err = w.c.Connect(ctx); err == nil {
		for _, sql := range []string{"create extension gpujoin", tables, "vacuum analyze", native} {
			err = errors.Join(err, w.witness.Exec(ctx, sql))
		}
	}
	if err == nil {
		w.started, err = w.witness.One(ctx, "select pg_postmaster_start_time()")
	}
	if err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

func (w *world) stop() error {
	return errors.Join(w.p.Close(), w.d.Stop(), w.c.Stop())
}

// revive starts a daemon in place of one that was killed.
func (w *world) revive(t *testing.T) {
	t.Helper()
	if !w.d.Exited() {
		return
	}
	d, err := w.c.StartDaemon(w.options)
	if err != nil {
		t.Fatal(err)
	}
	w.d = d
	if err := w.p.Follow(d); err != nil {
		t.Fatal(err)
	}
}

// The feed of fact fills several extents, that of dim one, and their join fills
// more result batches than the daemon may have in flight to a backend.
const tables = `
	create table fact as select i as id, (i * 7919) % 5000 as k, i % 10 as g, 'fact ' || i as note
		from generate_series(1::int8, 40000) i;
	create table dim as select i as k, i * 10 as v, repeat('d', 60 + (i % 60)::int) as note
		from generate_series(0::int8, 4999) i;
	create table tiny as select i as g, 'group ' || i as name from generate_series(0::int8, 9) i;
	create table big as select i as k, repeat(md5(i::text), 80000) as value from generate_series(1::int8, 3) i;
	create table named as select i as k, ('name ' || i)::name as name from generate_series(0::int8, 4999) i;
	create role plain login;
	grant select on fact, dim, tiny to plain;`

// theJoin returns 40000 rows of three tables.
const theJoin = "select f.id, f.note, d.v, d.note, t.name from fact f join dim d on f.k = d.k join tiny t on f.g = t.g"

// theSum is the same join with one result row.
const theSum = "select count(*), sum(f.id), sum(d.v), sum(length(d.note)) from fact f join dim d on f.k = d.k"

// session opens a session that the test closes at its end.
func (w *world) session(t testing.TB, settings ...string) *harness.Session {
	t.Helper()
	return sqltest.Session(t, w.c, settings...)
}

// proxied opens a session whose joins go through the proxy.
func (w *world) proxied(t testing.TB, settings ...string) *harness.Session {
	t.Helper()
	return w.session(t, append([]string{forced, "set gpujoin.socket = '" + w.p.Socket + "'"}, settings...)...)
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
		h := w.p.HoldFrame(msg, nth)
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

// expect returns PostgreSQL's own result.
func (w *world) expect(t testing.TB, sql string) *harness.Result {
	t.Helper()
	if w.native[sql] == nil {
		w.native[sql] = query(t, w.witness, sql)
	}
	return w.native[sql]
}

// right compares rows with the native plan's.
func (w *world) right(t testing.TB, sql string, a answer) {
	t.Helper()
	if a.err != nil {
		t.Errorf("%s: %v", sql, a.err)
		return
	}
	if d := harness.SameRows(w.expect(t, sql), a.Result); d != "" {
		t.Errorf("%s: %s", sql, d)
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

// unharmed checks the state after a fault: the server has not restarted, a
// session from before it continues and its query is right, the daemon and the
// backend (if it still lives) hold nothing, and the next query is offloaded.
func (w *world) unharmed(t *testing.T, s *harness.Session) {
	t.Helper()
	w.p.Rewrite(nil)
	if now := query(t, w.witness, "select pg_postmaster_start_time()").Rows[0]; now != w.started {
		t.Fatalf("the postmaster restarted: %s, %s", w.started, now)
	}
	w.right(t, theSum, <-ask(w.witness, theSum))
	other := w.session(t, forced)
	defer other.Close()
	w.right(t, theSum, <-ask(other, theSum)) // with or without a daemon
	w.revive(t)
	settled(t, other)
	if s != nil {
		released(t, s)
	}
	plan, err := other.Explain(context.Background(), "analyze, timing off", theSum)
	if err != nil {
		t.Fatal(err)
	}
	if plan.OffloadedJoins() != 1 {
		t.Errorf("the next query was not offloaded: %v", plan.OffloadJoins())
	}
	w.right(t, theSum, <-ask(other, theSum))
}
