package fault

import (
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
)

const keptTable = `create table kept_wide with (autovacuum_enabled = off) as
	select i as id, i as a, i as b, i as c, i as d, i as e, i as f, i as g from generate_series(1::int8, 150000) i`

// A table that does not fit what the daemon may keep is kept in part, keep() and the view say
// why, and queries are right.
func TestKeepWithoutMemory(t *testing.T) {
	w := sqltest.New(t, harness.DaemonOptions{"keep-memory": "4MB"})
	s := w.Session(t, sqltest.Forced, "set synchronous_commit = on", keptTable, "vacuum kept_wide")
	r := sqltest.Query(t, s, "select cardinality(kept_columns) > 0 and fraction < 0.9 from gpujoin.keep('kept_wide')")
	if len(r.Rows) != 1 || r.Rows[0] != "t" {
		t.Errorf("kept in part: %q", r.Rows)
	}
	r = sqltest.Query(t, s, "select reason from gpujoin.kept where relation = 'kept_wide'")
	if len(r.Rows) != 1 || !strings.Contains(r.Rows[0], "--keep-memory") {
		t.Errorf("the reason: %q", r.Rows)
	}
	r = sqltest.Query(t, s, "select differences from gpujoin.check_kept('kept_wide')")
	if len(r.Rows) != 1 || r.Rows[0] != "0" {
		t.Errorf("differences: %q", r.Rows)
	}
	sqltest.SameAsNative(t, s, "select w.id, w.g, d.v from kept_wide w join dim d on w.id = d.k")
}

// A daemon that may keep nothing says so.
func TestKeepNothing(t *testing.T) {
	w := sqltest.New(t, harness.DaemonOptions{"keep-memory": "0"})
	s := w.Session(t, "vacuum fact")
	ctx, cancel := sqltest.Bounded()
	defer cancel()
	if _, err := s.Query(ctx, "select * from gpujoin.keep('fact')"); err == nil || !strings.Contains(err.Error(), "cannot keep anything") {
		t.Errorf("keep: %v", err)
	}
	if r := sqltest.Query(t, s, "select * from gpujoin.kept"); len(r.Rows) != 0 {
		t.Errorf("kept: %q", r.Rows)
	}
}
