package e2e

import (
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

// If the plan of an input lacks a column that was there when the planner chose the job,
// the query runs the native plan instead of failing, and EXPLAIN says so.
func TestPlanWithDefect(t *testing.T) {
	w := newWorld(t)
	library := compileLibrary(t, w.Cluster, "testdata/neighbour.c", "-DDROPS_COLUMNS")
	in, err := w.Cluster.ConnectWith(t.Context(), "session_preload_libraries", "gpujoin, "+library)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	exec(t, in, "prepare above as select f.g, count(*) from fact f join dim d using (k) where d.v > $1 group by f.g")
	asserts := query(t, in, "show debug_assertions").Rows[0] == "on"
	const defect = "the plan of an input lacks column"
	const parallel = "set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; " +
		"set min_parallel_table_scan_size = 0; set plan_cache_mode = force_generic_plan"
	for _, c := range []struct{ settings, sql, node string }{
		{"", "select f.id, d.v from fact f join dim d using (k)", "OffloadJoin"},
		{"", "select f.id, d.v from fact f left join dim d on f.k = d.k and f.g < d.v where f.id + coalesce(d.v, 0) > 30000", "OffloadJoin"},
		{"", "select f.g, count(*), sum(d.v) from fact f join dim d using (k) group by f.g having count(*) > 5", "OffloadBlock"},
		{"", "select f.g, d.v % 3, count(*) from fact f join dim d using (k) group by grouping sets ((f.g), (d.v % 3), ())", "OffloadBlock"},
		{"", "select g, g, count(*) from fact where k > 10 group by g", "OffloadBlock"},
		{"", "select t.g, (select sum(d.v) from fact f join dim d using (k) where f.id < 100 * t.g) from tiny t", "OffloadJoin"},
		{parallel, "select f.id, d.v from fact f join dim d using (k)", "OffloadJoin"},
		{parallel, "select f.g, count(*) from fact f join dim d using (k) group by f.g", "OffloadBlock"},
		{parallel, "execute above(100)", "OffloadBlock"},
	} {
		exec(t, in, "reset all; set gpujoin.enable_aggregates = on;"+native+c.settings)
		want := query(t, in, c.sql)
		exec(t, in, forced+"discard plans")
		if asserts {
			if _, err := in.Query(t.Context(), c.sql); err == nil || !strings.Contains(err.Error(), defect) {
				t.Errorf("%s: with assertions: %v", c.sql, err)
			}
			continue
		}
		if d := harness.SameRows(want, query(t, in, c.sql)); d != "" {
			t.Errorf("%s: %s", c.sql, d)
		}
		for _, options := range []string{"", "verbose", "analyze, timing off"} {
			var nodes []harness.Node // that a library provides
			explain(t, in, options, c.sql).All(func(n harness.Node) bool {
				if n.Text("Custom Plan Provider") != "" {
					nodes = append(nodes, n)
				}
				return true
			})
			if len(nodes) != 1 || nodes[0].Text("Custom Plan Provider") != c.node ||
				!strings.HasPrefix(nodes[0].Text("Fallback"), "internal: "+defect) || len(nodes[0].Children()) != 1 {
				t.Errorf("explain (%s) %s: %v", options, c.sql, nodes)
			}
		}
		if lines := query(t, in, "explain "+c.sql).Rows; !strings.Contains(strings.Join(lines, "\n"), "Fallback: internal: ") {
			t.Errorf("explain %s: %q", c.sql, lines)
		}
	}
	if !asserts && !strings.Contains(w.Cluster.Server().Log(), "gpujoin runs a native plan: internal: "+defect) {
		t.Error("the server's log does not say so")
	}
}
