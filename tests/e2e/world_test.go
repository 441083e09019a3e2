// Package e2e runs SQL through the extension and a daemon and compares the results with
// PostgreSQL's own, including under errors and restarts.
package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
)

var env *harness.Env

// shared is the world of tests that leave it unchanged.
var shared = sqltest.Shared[*world]{Start: startWorld, Stop: (*world).stop}

func TestMain(m *testing.M) { sqltest.Main(m, &env, &shared) }

// Short names for helpers.
const (
	native = sqltest.Native
	forced = sqltest.Forced
)

var (
	bounded      = sqltest.Bounded
	exec         = sqltest.Exec
	query        = sqltest.Query
	explain      = sqltest.Explain
	sameAsNative = sqltest.SameAsNative
)

// world is a cluster with a daemon.
type world struct {
	c *harness.Cluster
	d *harness.Daemon

	started string // when the postmaster started
}

var daemonOptions = sqltest.DaemonOptions(harness.DaemonOptions{"memory-budget": "1GB"})

func theWorld(t *testing.T) *world {
	t.Helper()
	return shared.Get(t)
}

// newWorld returns a world for one test.
func newWorld(t *testing.T) *world {
	t.Helper()
	w, err := startWorld()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log ends:\n%s", w.c.Server().LogTail(30))
			t.Logf("the daemon's log ends:\n%s", w.d.LogTail(30))
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func startWorld() (*world, error) {
	pair, err := env.StartPair(sqltest.Settings(harness.Settings{"shared_buffers": "256MB"}), daemonOptions)
	if err != nil {
		return nil, err
	}
	w := &world{c: pair.Cluster, d: pair.Daemon}
	s, err := w.c.Connect(context.Background())
	if err == nil {
		defer s.Close()
		err = s.Exec(context.Background(), "create extension gpujoin;"+tables)
	}
	if err == nil {
		err = s.Exec(context.Background(), "vacuum analyze fact, dim, tiny")
	}
	if err == nil {
		w.started, err = s.One(context.Background(), "select pg_postmaster_start_time()")
	}
	if err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

func (w *world) stop() error {
	return errors.Join(w.d.Stop(), w.c.Stop())
}

// Tables that most tests join: each feed fills several extents, and the join
// fills many result batches.
const tables = `
	create table fact as select i as id, (i * 7919) % 5000 as k, i % 10 as g, 'fact ' || i as note
		from generate_series(1::int8, 60000) i;
	create table dim as select i as k, i * 10 as v, repeat('d', (i % 30)::int) as note
		from generate_series(0::int8, 4999) i;
	create table tiny as select i as g, 'group ' || i as name from generate_series(0::int8, 9) i;`

// theJoin returns 60000 rows of three tables.
const theJoin = "select f.id, f.note, d.v, d.note, t.name from fact f join dim d on f.k = d.k join tiny t on f.g = t.g"

// session opens a session that the test closes at its end.
func (w *world) session(t *testing.T, settings ...string) *harness.Session {
	t.Helper()
	return sqltest.Session(t, w.c, settings...)
}

// unharmed checks the state after a fault: the postmaster has not restarted,
// another session's query is right, the daemon and the backend (if it still
// lives) hold nothing, and the next suitable query is offloaded.
func (w *world) unharmed(t *testing.T, s *harness.Session) {
	t.Helper()
	other := w.session(t)
	if now := query(t, other, "select pg_postmaster_start_time()").Rows[0]; now != w.started {
		t.Fatalf("the postmaster restarted: %s, %s", w.started, now)
	}
	if strings.Contains(w.c.Server().Log(), "terminated by signal") {
		t.Errorf("a server process crashed:\n%s", w.c.Server().LogTail(20))
	}
	sqltest.Settled(t, other)
	if s != nil {
		sqltest.Released(t, s)
	}
	exec(t, other, forced)
	plan := explain(t, other, "analyze, timing off", "select sum(f.id), sum(d.v) from fact f join dim d on f.k = d.k")
	if plan.OffloadedJoins() != 1 {
		t.Errorf("the next query was not offloaded: %v", plan.OffloadJoins())
	}
	sameAsNative(t, other, "select sum(f.id), sum(d.v) from fact f join dim d on f.k = d.k")
}
