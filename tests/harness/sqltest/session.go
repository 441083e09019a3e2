package sqltest

import (
	"context"
	"testing"
	"time"

	"gpujoin/tests/harness"
)

// Settings that decide how a session's joins run.
const (
	Native = "set gpujoin.enabled = off; set gpujoin.debug_force = off;"
	Forced = "set gpujoin.enabled = on; set gpujoin.debug_force = on; set gpujoin.min_rows = 0;"
)

// Patience is the time limit of a statement, far more than any needs.
const Patience = time.Minute

// Bounded returns a context with the time limit Patience.
func Bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), Patience)
}

// Session opens a session in the world's tables, runs settings in it, and closes it at the
// end of the test.
func (w *World) Session(t testing.TB, settings ...string) *harness.Session {
	t.Helper()
	return SessionIn(t, w.Cluster, "postgres", settings...)
}

// SessionIn does the same in any database.
func SessionIn(t testing.TB, c *harness.Cluster, database string, settings ...string) *harness.Session {
	t.Helper()
	s, err := c.ConnectAs(context.Background(), "postgres", database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // fails if the test has ended it
	for _, sql := range settings {
		Exec(t, s, sql)
	}
	return s
}

// Exec runs statements and ignores their rows.
func Exec(t testing.TB, s *harness.Session, sql string) {
	t.Helper()
	ctx, cancel := Bounded()
	defer cancel()
	if err := s.Exec(ctx, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Query returns a statement's rows.
func Query(t testing.TB, s *harness.Session, sql string) *harness.Result {
	t.Helper()
	ctx, cancel := Bounded()
	defer cancel()
	r, err := s.Query(ctx, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return r
}

// Explain returns a statement's plan; options are those of EXPLAIN.
func Explain(t testing.TB, s *harness.Session, options, sql string) harness.Node {
	t.Helper()
	ctx, cancel := Bounded()
	defer cancel()
	plan, err := s.Explain(ctx, options, sql)
	if err != nil {
		t.Fatalf("explain %s: %v", sql, err)
	}
	return plan
}

// SameAsNative runs a query natively and offloaded in one session and compares
// the rows; the forced plan must have an OffloadJoin.
func SameAsNative(t testing.TB, s *harness.Session, sql string) {
	t.Helper()
	Exec(t, s, Native)
	want := Query(t, s, sql)
	Exec(t, s, Forced)
	if len(Explain(t, s, "", sql).OffloadJoins()) == 0 {
		t.Errorf("no OffloadJoin in the plan of %s", sql)
	}
	if d := harness.SameRows(want, Query(t, s, sql)); d != "" {
		t.Errorf("%s: %s", sql, d)
	}
}
