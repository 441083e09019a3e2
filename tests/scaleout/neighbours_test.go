package scaleout

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/shards"
	"gpujoin/tests/harness/sqltest"
)

// Offloaded queries are the same to other libraries in the server as native ones, and the
// order in which libraries are loaded does not matter.
func TestNeighbours(t *testing.T) {
	more := harness.Settings{"shared_preload_libraries": "'pg_stat_statements'", "pg_stat_statements.track": "all", "session_preload_libraries": "''"}
	for name, value := range settings {
		more[name] = value
	}
	pair, err := sqltest.Env.StartPair(more, daemon)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			t.Logf("the server's log ends:\n%s", pair.Cluster.Server().LogTail(30))
		}
		if err := pair.Stop(); err != nil {
			t.Error(err)
		}
	}()
	library, err := pair.Cluster.CompileLibrary("testdata/hooks.c")
	if err != nil {
		t.Fatal(err)
	}
	admin := sqltest.SessionIn(t, pair.Cluster, "postgres", "create extension pg_stat_statements; create extension file_fdw", shards.Tables("", 1, 20000))
	file := filepath.Join(pair.Cluster.Dir, "priorities.csv")
	sqltest.Exec(t, admin, fmt.Sprintf(`copy (select o_key, o_key %% 7 from orders) to '%[1]s' (format csv);
		create server files foreign data wrapper file_fdw; create foreign table priorities (k bigint, urgency int) server files options (filename '%[1]s', format 'csv')`, file))
	const fileJoin = "select urgency, count(*), sum(l_price) from priorities join lineitem on k = l_order group by urgency"
	want, wantFile := sqltest.Query(t, admin, shards.ByKey), sqltest.Query(t, admin, fileJoin)

	for _, libraries := range []string{"auto_explain, " + library + ", gpujoin", "gpujoin, " + library + ", auto_explain"} {
		sqltest.Exec(t, admin, "select pg_stat_statements_reset()")
		s, err := pair.Cluster.ConnectWith(t.Context(), "session_preload_libraries", libraries)
		if err != nil {
			t.Fatal(err)
		}
		sqltest.Exec(t, s, sqltest.Forced+"set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on; set auto_explain.log_format = json; set client_min_messages = log")
		s.Notices()
		if d := harness.SameRows(want, sqltest.Query(t, s, shards.ByKey)); d != "" {
			t.Errorf("%s: %s", libraries, d)
		}
		blocks := 0
		for _, notice := range s.Notices() {
			if plan := harness.LoggedPlan(notice); plan != nil {
				blocks += plan.OffloadedBlocks()
			}
		}
		if blocks != 1 {
			t.Errorf("%s: auto_explain has logged %d offloaded blocks", libraries, blocks)
		}
		counted := sqltest.Query(t, admin, "select calls, rows from pg_stat_statements where query like 'select o_key, count%'").Rows
		if len(counted) != 1 || counted[0] != fmt.Sprintf("1\t%d", len(want.Rows)) {
			t.Errorf("%s: pg_stat_statements: %q", libraries, counted)
		}
		if n := sqltest.Query(t, s, "select current_setting('neighbour.planned')::int > 0, current_setting('neighbour.executed')::int > 0").Rows[0]; n != "t\tt" {
			t.Errorf("%s: the other library's hooks: %s", libraries, n)
		}

		sqltest.Exec(t, s, "set client_min_messages = notice; set gpujoin.explain_rejected = on")
		s.Notices()
		if d := harness.SameRows(wantFile, sqltest.Query(t, s, fileJoin)); d != "" {
			t.Errorf("%s: join with a file: %s", libraries, d)
		}
		if notices := strings.Join(s.Notices(), "\n"); !strings.Contains(notices, "native: foreign") {
			t.Errorf("%s: join with a file: %q", libraries, notices)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
