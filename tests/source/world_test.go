// Package source tests sidecar/source against private servers: loads and streams while
// others write, faults of the connection and of the source, and each refusal. A recorder
// keeps what a session delivers; its rows are compared by value with the source's.
package source

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gpujoin/sidecar/source"
	"gpujoin/tests/harness"
)

// settings are those of a source. Its commits are durable: async ones are received late.
func settings(more harness.Settings) harness.Settings {
	s := harness.Settings{"wal_level": "logical", "synchronous_commit": "on", "max_replication_slots": "10",
		"max_wal_senders": "10", "session_preload_libraries": "''", "shared_buffers": "64MB"}
	for k, v := range more {
		s[k] = v
	}
	return s
}

var (
	env    *harness.Env
	shared *harness.Cluster
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if env, err = harness.Prepare(); err != nil {
		fmt.Println(err)
		return 1
	}
	if shared, err = env.NewCluster("", settings(nil)); err != nil {
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

// patience bounds what a test waits for.
const patience = 60 * time.Second

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	return ctx
}

// newCluster starts a server for one test.
func newCluster(t testing.TB, more harness.Settings) *harness.Cluster {
	t.Helper()
	c, err := env.NewCluster("", settings(more))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// world is a database of its own in a cluster, with a session that mirrors it.
type world struct {
	t        testing.TB
	cluster  *harness.Cluster
	database string
	sql      *harness.Session
	recorder *recorder
	session  *source.Session
	target   source.Target // of the session; nil: the recorder
}

var databases int

// newWorld makes a database with tables.
func newWorld(t testing.TB, c *harness.Cluster, schema string) *world {
	t.Helper()
	ctx := bounded(t)
	admin, err := c.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	databases++
	w := &world{t: t, cluster: c, database: fmt.Sprintf("d%d", databases), recorder: newRecorder()}
	if err := admin.Exec(ctx, "create database "+w.database); err != nil {
		t.Fatal(err)
	}
	w.sql = w.connect()
	w.exec(schema)
	return w
}

func (w *world) connect() *harness.Session {
	w.t.Helper()
	s, err := w.cluster.ConnectAs(bounded(w.t), "postgres", w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	return s
}

func (w *world) exec(sql string) {
	w.t.Helper()
	if err := w.sql.Exec(bounded(w.t), sql); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

func (w *world) one(sql string) string {
	w.t.Helper()
	v, err := w.sql.One(bounded(w.t), sql)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// prependHBA puts lines before those of pg_hba.conf.
func (w *world) prependHBA(lines string) {
	w.t.Helper()
	path := filepath.Join(w.cluster.Data, "pg_hba.conf")
	old, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, append([]byte(lines), old...), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.exec("select pg_reload_conf()")
	first := strings.Fields(lines)[0]
	eventually(w.t, "the server reads pg_hba.conf", func() bool {
		return w.one("select type from pg_hba_file_rules order by line_number limit 1") == first
	})
	time.Sleep(100 * time.Millisecond) // the view reads the file itself, before or after the postmaster
}

// keywords are those that reach the database as the superuser.
func (w *world) keywords() source.Keywords {
	return source.Keywords{"host": w.cluster.Sock, "port": fmt.Sprint(harness.Port), "dbname": w.database, "user": "postgres"}
}

// open opens a session with options; zero ones are set.
func (w *world) open(o source.Options) *source.Session {
	w.t.Helper()
	if o.Keywords == nil {
		o.Keywords = w.keywords()
	}
	target := w.target
	if target == nil {
		target = w.recorder
	}
	s, err := source.Open(o, target, slog.New(slog.NewTextHandler(logOf(w.t), nil)))
	if err != nil {
		w.t.Fatal(err)
	}
	w.session = s
	w.t.Cleanup(s.Close)
	return s
}

func logOf(t testing.TB) io.Writer { return testLog{t} }

type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func names(tables ...string) []source.Name {
	var all []source.Name
	for _, t := range tables {
		all = append(all, source.Name{Schema: "public", Table: t})
	}
	return all
}

// mirror mirrors tables and waits until all are ready.
func (w *world) mirror(tables ...string) {
	w.t.Helper()
	w.session.Mirror(names(tables...)...)
	w.ready(tables...)
}

func (w *world) ready(tables ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, n := range names(tables...) {
		if err := w.session.Wait(ctx, n); err != nil {
			w.t.Fatalf("%s: %v; %+v", n, err, w.session.Status())
		}
	}
}

// barrier waits until everything committed up to now has been delivered.
func (w *world) barrier() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	at, err := w.session.Latest(ctx)
	if err == nil {
		err = w.session.WaitFor(ctx, at)
	}
	if err != nil {
		w.t.Fatalf("%v; %+v", err, w.session.Status())
	}
}

// same compares tables by value at a barrier: each value in the send format that the
// source's own functions give.
func (w *world) same(tables ...string) {
	w.t.Helper()
	w.barrier()
	for _, table := range tables {
		sends := w.one(fmt.Sprintf(`select string_agg(format('coalesce(encode(%%s(%%I), ''hex''), ''null'')', t.typsend::regproc, a.attname), ' || '' '' || ' order by attnum)
			from pg_attribute a join pg_type t on t.oid = a.atttypid where attrelid = '%s'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`, table))
		r, err := w.sql.Query(bounded(w.t), "select "+sends+" from only "+table)
		if err != nil {
			w.t.Fatal(err)
		}
		want := r.Rows
		slices.Sort(want)
		got := w.recorder.rowsOf("public." + table)
		if !slices.Equal(got, want) {
			w.t.Errorf("%s has %d rows instead of %d: %s", table, len(got), len(want), firstDifference(got, want))
		}
	}
	w.sound()
}

// sound reports what the recorder found wrong.
func (w *world) sound() {
	w.t.Helper()
	for _, f := range w.recorder.takeFaults() {
		w.t.Error(f)
	}
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("missing %.200q", want[i])
		case i >= len(want):
			return fmt.Sprintf("added %.200q", got[i])
		case got[i] != want[i]:
			return fmt.Sprintf("row %d is %.200q instead of %.200q", i, got[i], want[i])
		}
	}
	return ""
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
