// Package foreign tests tables of another server through SQL, with two private servers: what
// queries see, what is read directly and why, and the error of each thing that is missing.
package foreign

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
)

var (
	env    *harness.Env
	shared *foreign.World
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if env, err = harness.Prepare(); err != nil {
		fmt.Println(err)
		return 1
	}
	if shared, err = start(foreign.Options{}); err != nil {
		fmt.Println(err)
		return 1
	}
	code := m.Run()
	if err := shared.Stop(); err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

func start(o foreign.Options) (*foreign.World, error) {
	// each test has a slot, and one more while its tables load
	settings := harness.Settings{"shared_buffers": "64MB", "lock_timeout": "'30s'", "max_connections": "300", "max_replication_slots": "120", "max_wal_senders": "120"}
	maps.Copy(settings, o.Source)
	o.Source = settings
	o.Daemon = harness.DaemonOptions{"calibrate": "false", "extent-size": "1MB", "memory-budget": "1GB"}
	return foreign.Start(env, o)
}

// startFor starts servers for one test.
func startFor(t *testing.T, o foreign.Options) *foreign.World {
	t.Helper()
	w, err := start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// patience bounds what a test waits for.
const patience = 60 * time.Second

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	return ctx
}

// world is a database of its own in each of the two servers, with a session in each.
type world struct {
	t *testing.T
	*foreign.World
	database      string
	source, local *session
}

// session is a session whose errors end the test.
type session struct {
	*harness.Session
	t *testing.T
}

var databases int

// newWorld makes databases, and tables at the source.
func newWorld(t *testing.T, servers *foreign.World, schema string) *world {
	t.Helper()
	databases++
	w := &world{t: t, World: servers, database: fmt.Sprintf("d%d", databases)}
	for _, c := range []*harness.Cluster{servers.Source, servers.Local} {
		admin, err := c.Connect(bounded(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := admin.Exec(bounded(t), "create database "+w.database); err != nil {
			t.Fatal(err)
		}
		_ = admin.Close() // nothing depends on it
	}
	w.source, w.local = w.connect(servers.Source), w.connect(servers.Local)
	w.source.exec(schema)
	w.local.exec("create extension gpujoin")
	return w
}

func (w *world) connect(c *harness.Cluster) *session { return w.connectAs(c, "postgres") }

func (w *world) connectAs(c *harness.Cluster, user string) *session {
	w.t.Helper()
	s, err := c.ConnectAs(bounded(w.t), user, w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	return &session{s, w.t}
}

// keywords are options of a server; the given ones are added, or replace them.
func (w *world) keywords(more map[string]string) map[string]string {
	k := w.Keywords()
	k["dbname"] = w.database
	maps.Copy(k, more)
	return k
}

// server makes a foreign server, a mapping, and a schema of its name.
func (w *world) server(name string, options, mapping map[string]string) {
	w.t.Helper()
	if mapping == nil {
		mapping = map[string]string{"user": "postgres"}
	}
	w.local.exec(foreign.ServerSQL(name, w.keywords(options), mapping))
}

// imports makes the server src and its foreign tables, of which the named ones are mirrored.
func (w *world) imports(options map[string]string, mirrored ...string) {
	w.t.Helper()
	w.server("src", options, nil)
	w.local.exec(foreign.ImportSQL("src"))
	w.local.exec("set search_path = src, public")
	w.mirror(mirrored...)
}

func (w *world) mirror(tables ...string) {
	w.t.Helper()
	if err := foreign.Mirror(bounded(w.t), w.local.Session, tables...); err != nil {
		w.t.Fatalf("%v\n%s", err, w.Status(bounded(w.t)))
	}
}

func (s *session) exec(sql string) {
	s.t.Helper()
	if err := s.Exec(bounded(s.t), sql); err != nil {
		s.t.Fatalf("%s: %s", sql, errorText(err))
	}
}

func (s *session) query(sql string) *harness.Result {
	s.t.Helper()
	r, err := s.Query(bounded(s.t), sql)
	if err != nil {
		s.t.Fatalf("%s: %s", sql, errorText(err))
	}
	return r
}

func (s *session) one(sql string) string {
	s.t.Helper()
	v, err := s.One(bounded(s.t), sql)
	if err != nil {
		s.t.Fatalf("%s: %s", sql, errorText(err))
	}
	return v
}

// plan executes a query and returns what it says of its foreign tables.
func (s *session) plan(sql string) (p foreign.Plan) {
	s.t.Helper()
	node, err := s.Explain(bounded(s.t), "analyze, timing off", sql)
	if err != nil {
		s.t.Fatalf("explain %s: %v", sql, err)
	}
	p.Add(node)
	return p
}

// fails executes a statement that must fail with a SQLSTATE and a part of its text, which
// includes detail and hint.
func (s *session) fails(state, part, sql string) {
	s.t.Helper()
	err := s.Exec(bounded(s.t), sql)
	text := errorText(err)
	if err == nil || harness.SQLState(err) != state || !strings.Contains(text, part) {
		s.t.Errorf("%s: %q instead of [%s] … %s …", sql, text, state, part)
	}
}

// same compares a query here with the same one at the source.
func (w *world) same(sql string) {
	w.t.Helper()
	if d := harness.SameRows(w.source.query(sql), w.local.query(sql)); d != "" {
		w.t.Errorf("%s: %s", sql, d)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
