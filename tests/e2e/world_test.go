// Package e2e runs SQL through the extension and a daemon and compares what
// comes back with what PostgreSQL returns by itself, in fair weather and foul.
package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gpujoin/tests/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	var err error
	if env, err = harness.Prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if shared.world != nil {
		if err := shared.world.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// world is a cluster with a daemon beside it.
type world struct {
	c *harness.Cluster
	d *harness.Daemon

	started string // when the postmaster started
}

// daemonOptions make many small extents of little data, and starting quick.
var daemonOptions = harness.DaemonOptions{
	"extent-size":   "1MB",
	"memory-budget": "1GB",
	"memory-warm":   "16MB",
	"calibrate":     "false",
	"log-level":     "debug",
}

// settings let small tables have parallel plans.
var settings = harness.Settings{
	"shared_buffers":               "256MB",
	"max_connections":              "60",
	"max_worker_processes":         "16",
	"max_parallel_workers":         "16",
	"parallel_setup_cost":          "0",
	"parallel_tuple_cost":          "0",
	"min_parallel_table_scan_size": "0",
}

var shared struct {
	sync.Mutex
	world *world
}

// theWorld is shared by the tests that leave it as it was.
func theWorld(t *testing.T) *world {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.world == nil {
		w, err := startWorld(settings, daemonOptions)
		if err != nil {
			t.Fatal(err)
		}
		shared.world = w
	}
	return shared.world
}

// newWorld is a test's own; options are beside daemonOptions.
func newWorld(t *testing.T, options harness.DaemonOptions) *world {
	t.Helper()
	all := harness.DaemonOptions{}
	for _, set := range []harness.DaemonOptions{daemonOptions, options} {
		for k, v := range set {
			all[k] = v
		}
	}
	w, err := startWorld(settings, all)
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

func startWorld(settings harness.Settings, options harness.DaemonOptions) (*world, error) {
	c, err := env.NewCluster("", settings)
	if err != nil {
		return nil, err
	}
	w := &world{c: c}
	if w.d, err = c.StartDaemon(options); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	s, err := c.Connect(context.Background())
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

// tables that most tests join: feed fills several extents of each, and their
// join fills many result batches.
const tables = `
	create table fact as select i as id, (i * 7919) % 5000 as k, i % 10 as g, 'fact ' || i as note
		from generate_series(1::int8, 60000) i;
	create table dim as select i as k, i * 10 as v, repeat('d', (i % 30)::int) as note
		from generate_series(0::int8, 4999) i;
	create table tiny as select i as g, 'group ' || i as name from generate_series(0::int8, 9) i;`

// theJoin returns 60000 rows of three tables.
const theJoin = "select f.id, f.note, d.v, d.note, t.name from fact f join dim d on f.k = d.k join tiny t on f.g = t.g"

const (
	native = "set gpujoin.enabled = off; set gpujoin.force = off;"
	forced = "set gpujoin.enabled = on; set gpujoin.force = on; set gpujoin.min_rows = 0;"
)

// session opens a session that the test closes at its end.
func (w *world) session(t *testing.T, settings ...string) *harness.Session {
	t.Helper()
	s, err := w.c.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the test may have ended it
	for _, sql := range settings {
		exec(t, s, sql)
	}
	return s
}

// background bounds a statement that should be quick.
func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

func exec(t *testing.T, s *harness.Session, sql string) {
	t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	if err := s.Exec(ctx, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func query(t *testing.T, s *harness.Session, sql string) *harness.Result {
	t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	r, err := s.Query(ctx, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return r
}

func explain(t *testing.T, s *harness.Session, options, sql string) harness.Node {
	t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	plan, err := s.Explain(ctx, options, sql)
	if err != nil {
		t.Fatalf("explain %s: %v", sql, err)
	}
	return plan
}

// sameAsNative runs a query both ways in one session and compares; the forced
// plan must hold a GpuJoin.
func sameAsNative(t *testing.T, s *harness.Session, sql string) {
	t.Helper()
	exec(t, s, native)
	want := query(t, s, sql)
	exec(t, s, forced)
	if len(explain(t, s, "", sql).GpuJoins()) == 0 {
		t.Errorf("no GpuJoin in the plan of %s", sql)
	}
	if d := harness.SameRows(want, query(t, s, sql)); d != "" {
		t.Errorf("%s: %s", sql, d)
	}
}

// daemonStatus is the part of the daemon's report that tests look at.
type daemonStatus struct {
	PID                              int
	Reserved, Used                   int64
	Queued, Sessions                 int
	Pool                             struct{ Extents, Free int }
	Totals                           struct{ Joins, Refused int64 }
	Jobs                             []struct{ State string }
	Budget                           int64
	Version                          string
	ProtocolErrors, RejectedPeersRaw int64 `json:"-"`
}

// status asks the daemon through SQL.
func (w *world) status(t *testing.T) daemonStatus {
	t.Helper()
	s := w.session(t)
	defer s.Close()
	text, err := s.One(context.Background(), "select coalesce(status::text, failure) from "+statusFunction)
	if err != nil {
		t.Fatal(err)
	}
	var st daemonStatus
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, `\\`, `\`)), &st); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return st
}

const statusFunction = "gpujoin.daemon_status()"

// settle waits until the daemon has no job, no reservation and no session but
// the one that asks, and all extents are back in its pool.
func (w *world) settle(t *testing.T) {
	t.Helper()
	var st daemonStatus
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		st = w.status(t)
		if len(st.Jobs) == 0 && st.Reserved == 0 && st.Sessions <= 1 && st.Queued == 0 &&
			st.Pool.Free == st.Pool.Extents {
			return
		}
	}
	t.Errorf("the daemon still holds something: %+v", st)
}

// unharmed checks what every fault must leave behind: the postmaster has not
// restarted, another session's query is right, the daemon and the backend (if
// it still lives) hold nothing, and the next offloaded query is offloaded.
func (w *world) unharmed(t *testing.T, s *harness.Session) {
	t.Helper()
	other := w.session(t)
	if now := query(t, other, "select pg_postmaster_start_time()").Rows[0]; now != w.started {
		t.Fatalf("the postmaster restarted: %s, %s", w.started, now)
	}
	if strings.Contains(w.c.Server().Log(), "terminated by signal") {
		t.Errorf("a server process crashed:\n%s", w.c.Server().LogTail(20))
	}
	w.settle(t)
	if s != nil {
		if h, err := harness.HoldingsOf(s.PID()); err == nil && (h.MemFDs > 0 || h.Mapped > 0) {
			t.Errorf("the backend still holds %+v", h)
		}
	}
	exec(t, other, forced)
	plan := explain(t, other, "analyze, timing off", "select sum(f.id), sum(d.v) from fact f join dim d on f.k = d.k")
	if plan.OffloadedJoins() != 1 {
		t.Errorf("the next query was not offloaded: %v", plan.GpuJoins())
	}
	sameAsNative(t, other, "select sum(f.id), sum(d.v) from fact f join dim d on f.k = d.k")
}
