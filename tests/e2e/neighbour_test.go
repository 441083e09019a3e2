package e2e

import (
	"slices"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
)

// compileLibrary compiles a library for a server and returns its path.
func compileLibrary(t *testing.T, c *harness.Cluster, source string, flags ...string) string {
	t.Helper()
	library, err := c.CompileLibrary(source, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return library
}

// neighbours starts a server with libraries of others and a database to copy, and opens a
// session.
func neighbours(t *testing.T) (*harness.Pair, *harness.Session) {
	t.Helper()
	w, err := sqltest.Env.StartPair(sqltest.Settings(harness.Settings{
		"shared_preload_libraries": "'pg_stat_statements'", "pg_stat_statements.track": "all",
		"session_preload_libraries": "''", "gpujoin.enable_aggregates": "on",
	}), sqltest.DaemonOptions(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log ends:\n%s", w.Cluster.Server().LogTail(30))
		}
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := sqltest.SessionIn(t, w.Cluster, "postgres")
	exec(t, s, "create database original")
	in := sqltest.SessionIn(t, w.Cluster, "original")
	exec(t, in, sqltest.Tables+`
		create table scanned as select * from fact;
		create table owned as select * from dim;
		create function few(int8) returns setof int8 language plpgsql immutable rows 10
			as 'begin return query select generate_series(1::int8, $1); end';
		analyze fact, dim, tiny, scanned, owned`)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	return w, s
}

// copyDatabase makes a database whose sessions load these libraries, in this order.
func copyDatabase(t *testing.T, s *harness.Session, name string, libraries ...string) {
	t.Helper()
	exec(t, s, "create database "+name+" template original")
	exec(t, s, "alter database "+name+" set session_preload_libraries = '"+strings.Join(libraries, "', '")+"'")
	exec(t, s, "alter database "+name+" set auto_explain.log_min_duration = 0")
	exec(t, s, "alter database "+name+" set auto_explain.log_nested_statements = on")
}

// Rows are right whatever other libraries do to the planner, and whether they are
// loaded before or after this one.
func TestNeighbours(t *testing.T) {
	w, s := neighbours(t)
	const join = "select f.g, count(*), sum(d.v) from fact f join dim d using (k) group by f.g"
	for _, c := range []struct {
		variant       string
		sql           string
		before, after int    // jobs of the plan, if the library is loaded before or after
		rows          string // of the query, if given
	}{
		{"REPLACES_HOOKS", join, 1, 0, ""},
		{"REPLACES_HOOKS", "select g, count(*) from fact group by g", 1, 0, ""},
		{"REPLACES_SCANS", "select count(*), sum(g) from scanned", 0, 0, "80000\t360000"},
		{"REPLACES_SCANS", "select g % 2, count(*) from scanned group by g % 2", 0, 0, "0\t40000 1\t40000"},
		{"REPLACES_SCANS", "select distinct g / 10 from scanned", 0, 0, "0"},
		{"REPLACES_SCANS", "select count(*) from scanned join tiny using (g)", 0, 0, "80000"},
		{"REPLACES_SCANS", join, 1, 1, ""},
		{"REPLACES_SCANS", "select g, count(*) from fact group by g", 1, 1, ""},
		{"EMPTIES_SCANS", "select count(*), sum(g) from scanned", 1, 0, "0\t\\N"},
		{"EMPTIES_SCANS", "select g, count(*) from scanned group by g", 1, 0, ""},
		{"OWNS_RELATIONS", join, 1, 1, ""},
		{"OWNS_RELATIONS", "select g, count(*) from fact group by g", 1, 1, ""},
		{"OWNS_RELATIONS", "select count(*), sum(v) from owned", 0, 1, ""},
		{"OWNS_RELATIONS", "select count(*), sum(f.id) from fact f join owned using (k)", 0, 0, ""},
	} {
		library := compileLibrary(t, w.Cluster, "testdata/neighbour.c", "-D"+c.variant)
		for _, order := range []struct {
			libraries []string
			jobs      int
		}{
			{[]string{library, "gpujoin"}, c.before},
			{[]string{"auto_explain", library, "gpujoin"}, c.before},
			{[]string{"gpujoin", library, "auto_explain"}, c.after},
		} {
			copyDatabase(t, s, "one", order.libraries...)
			in := sqltest.SessionIn(t, w.Cluster, "one")
			exec(t, in, native)
			want := query(t, in, c.sql)
			exec(t, in, forced)
			got := query(t, in, c.sql)
			if d := harness.SameRows(want, got); d != "" {
				t.Errorf("%s, %v: %s: %s", c.variant, order.libraries, c.sql, d)
			}
			if rows := strings.Join(slices.Sorted(slices.Values(got.Rows)), " "); c.rows != "" && rows != c.rows {
				t.Errorf("%s, %v: %s: %s instead of %s", c.variant, order.libraries, c.sql, rows, c.rows)
			}
			if jobs := len(explain(t, in, "", c.sql).Jobs()); jobs != order.jobs {
				t.Errorf("%s, %v: %s: %d jobs instead of %d", c.variant, order.libraries, c.sql, jobs, order.jobs)
			}
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			exec(t, s, "drop database one (force)")
		}
	}
	if strings.Contains(w.Cluster.Server().Log(), "terminated by signal") {
		t.Error("a server process crashed")
	}
}

// The rows that another library expects of a function count.
func TestNeighboursRows(t *testing.T) {
	w, s := neighbours(t)
	library := compileLibrary(t, w.Cluster, "testdata/neighbour.c", "-DSETS_ROWS")
	for _, c := range []struct {
		libraries []string
		size      bool
	}{
		{[]string{"gpujoin"}, true},
		{[]string{library, "gpujoin"}, false},
		{[]string{"gpujoin", library}, false},
	} {
		copyDatabase(t, s, "rows", c.libraries...)
		in := sqltest.SessionIn(t, w.Cluster, "rows")
		exec(t, in, "set gpujoin.min_rows = 100000; set gpujoin.explain_rejected = on; set gpujoin.startup_cost = 1e9")
		in.Notices()
		exec(t, in, "explain select count(*) from few(20000) a join few(20000) b on a = b")
		if notices := strings.Join(in.Notices(), "\n"); strings.Contains(notices, "native: size") != c.size {
			t.Errorf("%v: %s", c.libraries, notices)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		exec(t, s, "drop database rows (force)")
	}
}

// A library that has a node of the same name turns gpujoin off for the session, and
// says so. Loaded later, it fails itself.
func TestNeighbourTakesName(t *testing.T) {
	w, s := neighbours(t)
	library := compileLibrary(t, w.Cluster, "testdata/neighbour.c", `-DTAKES_NAME="OffloadJoin"`)
	copyDatabase(t, s, "before", library, "gpujoin")
	copyDatabase(t, s, "after", "gpujoin", library)
	in := sqltest.SessionIn(t, w.Cluster, "before")
	const want = "WARNING: gpujoin is off in this session\n" +
		"DETAIL: Another library has registered a custom scan \"OffloadJoin\"."
	if notices := in.Notices(); len(notices) != 1 || notices[0] != want {
		t.Errorf("notices: %q", notices)
	}
	exec(t, in, forced)
	const sql = "select count(*) from fact join dim using (k)"
	if rows := query(t, in, sql).Rows; len(rows) != 1 || rows[0] != "40000" {
		t.Errorf("rows: %q", rows)
	}
	if jobs := len(explain(t, in, "", sql).Jobs()); jobs != 0 {
		t.Errorf("%d jobs", jobs)
	}
	_, err := w.Cluster.ConnectAs(t.Context(), "postgres", "after")
	if harness.SQLState(err) != "42710" {
		t.Errorf("loaded after gpujoin: %v", err)
	}
}

// gpujoin shares a session with a library whose custom scan is called GpuJoin, in
// either order: PG-Strom has one.
func TestNeighbourGpuJoin(t *testing.T) {
	w, s := neighbours(t)
	library := compileLibrary(t, w.Cluster, "testdata/neighbour.c", `-DTAKES_NAME="GpuJoin"`)
	copyDatabase(t, s, "before", library, "gpujoin")
	copyDatabase(t, s, "after", "gpujoin", library)
	for _, database := range []string{"before", "after"} {
		in := sqltest.SessionIn(t, w.Cluster, database)
		if notices := in.Notices(); len(notices) != 0 {
			t.Errorf("%s: notices: %q", database, notices)
		}
		exec(t, in, forced)
		const sql = "select count(*) from fact join dim using (k)"
		if rows := query(t, in, sql).Rows; len(rows) != 1 || rows[0] != "40000" {
			t.Errorf("%s: rows: %q", database, rows)
		}
		if jobs := len(explain(t, in, "", sql).Jobs()); jobs != 1 {
			t.Errorf("%s: %d jobs", database, jobs)
		}
	}
}
