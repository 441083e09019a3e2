package fault

import (
	"strings"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
)

// promising is a query of a table of 80 MB. The margin makes a job that feeds it dearer than the
// native plan, and leaves one that is served far cheaper.
const promising = "select count(*), sum(v) from promised where k > 500000"

func promisedTable(t *testing.T, w *sqltest.World) *harness.Session {
	s := w.Session(t, "set synchronous_commit = on", "set max_parallel_workers_per_gather = 0",
		`create table promised with (autovacuum_enabled = off) as
			select i as k, i * 3 as v, i as a, i as b from generate_series(1, 1500000) i`,
		"vacuum analyze promised", "set gpujoin.enable_aggregates = on", "set gpujoin.cost_margin = 8")
	sqltest.Query(t, s, "select from gpujoin.flush_wal()")
	return s
}

func planOf(t *testing.T, s *harness.Session, options string) string {
	return strings.Join(sqltest.Query(t, s, "explain "+options+" "+promising).Rows, "\n")
}

// A table that is not worth feeding, but worth keeping, is kept when it has been used twice: the
// first use ends with the native plan, the second one captures.
func TestPromisedTableIsKept(t *testing.T) {
	w := sqltest.New(t, nil)
	s := promisedTable(t, w)
	want := w.Expect(t, promising)
	if text := planOf(t, s, ""); !strings.Contains(text, "page feed, to be kept") {
		t.Fatalf("the plan before:\n%s", text)
	}
	if text := planOf(t, s, "(analyze, costs off)"); !strings.Contains(text, "Fallback: the daemon does not keep the columns") ||
		!strings.Contains(text, "once they have been used again") {
		t.Errorf("the first use:\n%s", text)
	}
	if text := planOf(t, s, "(analyze, costs off)"); !strings.Contains(text, "captured") || strings.Contains(text, "Fallback") {
		t.Errorf("the second use:\n%s", text)
	}
	deadline := time.Now().Add(10 * time.Second)
	for !strings.Contains(planOf(t, s, ""), "page feed, kept") {
		if time.Now().After(deadline) {
			t.Fatalf("never kept:\n%s", planOf(t, s, "(analyze)"))
		}
		time.Sleep(100 * time.Millisecond)
	}
	if text := planOf(t, s, "(analyze, costs off)"); strings.Contains(text, "Fallback") || !strings.Contains(text, " 0 fed") {
		t.Errorf("when it is kept:\n%s", text)
	}
	if d := harness.SameRows(want, sqltest.Query(t, s, promising)); d != "" {
		t.Error(d)
	}
}

// What the daemon has no memory for is promised only until it was refused.
func TestPromiseIsTakenBack(t *testing.T) {
	w := sqltest.New(t, harness.DaemonOptions{"keep-memory": "8MB"})
	s := promisedTable(t, w)
	want := w.Expect(t, promising)
	deadline := time.Now().Add(10 * time.Second)
	for strings.Contains(planOf(t, s, ""), "to be kept") {
		if d := harness.SameRows(want, sqltest.Query(t, s, promising)); d != "" {
			t.Fatal(d)
		}
		if time.Now().After(deadline) {
			t.Fatalf("promised for ever:\n%s", planOf(t, s, "(analyze)"))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// What may not be kept is not promised.
func TestNoPromise(t *testing.T) {
	w := sqltest.New(t, nil)
	s := promisedTable(t, w)
	for _, c := range []struct{ name, sql string }{
		{"off", "set gpujoin.keep = off"},
		{"unlogged", "reset gpujoin.keep; alter table promised set unlogged"},
		{"not all-visible", "alter table promised set logged; update promised set v = v"},
	} {
		sqltest.Exec(t, s, c.sql)
		if c.name == "not all-visible" {
			sqltest.Exec(t, s, "analyze promised")
		}
		if text := planOf(t, s, ""); strings.Contains(text, "to be kept") {
			t.Errorf("%s:\n%s", c.name, text)
		}
	}
}
