// Package sqltest has the world of tests that run SQL, a private server with a daemon,
// sessions in it whose errors end the test, and checks that a fault has left nothing
// behind.
package sqltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"gpujoin/tests/harness"
)

// World is a private server with tables, its daemon, and a proxy between the two for the
// sessions that select it.
type World struct {
	*harness.Pair
	Proxy *harness.Proxy
	// Witness is a session from the start, which runs natively. A crash of any server
	// process would end it.
	Witness *harness.Session
	Native  map[string]*harness.Result // of a query, as the witness has seen it

	started string // when the postmaster started
	base    held   // when everything was new
}

// Tables creates the tables of all worlds. The feed of fact fills several extents, that
// of dim one, and their join fills more result batches than the daemon may have in flight
// to a backend.
const Tables = `
	create table fact as select i as id, (i * 7919) % 5000 as k, i % 10 as g, 'fact ' || i as note
		from generate_series(1::int8, 40000) i;
	create table dim as select i as k, i * 10 as v, repeat('d', 60 + (i % 60)::int) as note
		from generate_series(0::int8, 4999) i;
	create table tiny as select i as g, 'group ' || i as name from generate_series(0::int8, 9) i;`

const (
	// TheJoin returns 40000 rows of the three tables.
	TheJoin = "select f.id, f.note, d.v, d.note, t.name from fact f join dim d on f.k = d.k join tiny t on f.g = t.g"
	// TheSum has one row, of a join of two of them.
	TheSum = "select count(*), sum(f.id), sum(d.v), sum(length(d.note)) from fact f join dim d on f.k = d.k"
)

var (
	// Env is what all worlds of a package share. Main sets it.
	Env *harness.Env
	// further creates the package's own tables.
	further string
	shared  *World // nil: no test has asked for it
	mu      sync.Mutex
)

// Main is the body of a TestMain: it runs the tests and stops the shared world. tables
// creates further tables of every world.
func Main(m *testing.M, tables string) {
	further = tables
	var err error
	if Env, err = harness.Prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if shared != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Shared returns the world that the first test starts and that every test leaves
// unchanged.
func Shared(t testing.TB) *World {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if shared == nil {
		w, err := start(nil)
		if err != nil {
			t.Fatal(err)
		}
		shared = w
	}
	t.Cleanup(func() {
		shared.Proxy.Rewrite(nil)
		shared.explainFailure(t)
	})
	return shared
}

// New returns a world for one test; more overrides the options of its daemon.
func New(t testing.TB, more harness.DaemonOptions) *World {
	t.Helper()
	w, err := start(more)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.explainFailure(t)
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func start(more harness.DaemonOptions) (*World, error) {
	pair, err := Env.StartPair(Settings(nil), DaemonOptions(more))
	if err != nil {
		return nil, err
	}
	w := &World{Pair: pair, Native: map[string]*harness.Result{}}
	if w.Proxy, err = w.Cluster.StartProxy("proxy", w.Daemon); err != nil {
		return nil, errors.Join(err, pair.Stop())
	}
	ctx := context.Background()
	if w.Witness, err = w.Cluster.Connect(ctx); err == nil {
		for _, sql := range []string{"create extension gpujoin", Tables, further, "vacuum analyze", Native} {
			err = errors.Join(err, w.Witness.Exec(ctx, sql))
		}
	}
	if err == nil {
		w.started, err = w.Witness.One(ctx, "select pg_postmaster_start_time()")
	}
	if err == nil { // a connection to the daemon is open, as in later checks
		_, err = w.Witness.One(ctx, "select failure is null from gpujoin.daemon_status()")
	}
	if err == nil {
		w.base, err = w.look(ctx, w.Witness)
	}
	if err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

func (w *World) stop() error { return errors.Join(w.Proxy.Close(), w.Pair.Stop()) }

// Restart starts the daemon again if it has ended.
func (w *World) Restart(t testing.TB) {
	t.Helper()
	if !w.Daemon.Exited() {
		return
	}
	if _, err := w.Revive(context.Background(), w.Witness); err != nil {
		t.Fatal(err)
	}
	if err := w.Proxy.Follow(w.Daemon); err != nil {
		t.Fatal(err)
	}
}

// explainFailure shows what a failed test's server and daemon have logged last.
func (w *World) explainFailure(t testing.TB) {
	if t.Failed() {
		t.Logf("the server's log ends:\n%s", w.Cluster.Server().LogTail(30))
		t.Logf("the daemon's log ends:\n%s", w.Daemon.LogTail(30))
	}
}
