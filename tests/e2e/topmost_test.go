package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The cost of the topmost join follows the native path that is the cheapest when
// all pairs of its sides have been joined. The first pair's path, many probes of an
// index, is slow for its cost, a later pair's is fast. Compared with the first one
// only, the job would seem cheaper than the later one, though it takes longer.
func TestTopmostJoinIsOfferedLast(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t, "set max_parallel_workers_per_gather = 0", "set gpujoin.min_rows = 0", "set gpujoin.cost_margin = 0",
		"set enable_hashjoin = off", "set enable_mergejoin = off", "set enable_bitmapscan = off",
		"set random_page_cost = 0.001", "set seq_page_cost = 5", "set gpujoin.cached_page_cost = 0.01",
		"set cpu_tuple_cost = 0.0001", "set cpu_index_tuple_cost = 0.00005", "set cpu_operator_cost = 0.000025",
		"set gpujoin.startup_cost = 6000")
	exec(t, s, `create table probed as select g as k, g as v from generate_series(1, 20000) g;
		create table middle as select g as k, g as j from generate_series(1, 20000) g;
		create table wide as select g as j, repeat('x', 1000) as x from generate_series(1, 2000) g;
		create index on probed (k);
		analyze probed, middle, wide`)
	const sql = "select p.v from (probed p join middle m using (k)) join wide w using (j) where w.j + 0 = 7"
	// A limit of 1 leaves only the first pair.
	for _, c := range []struct{ limit, jobs int }{{1, 1}, {8, 0}} {
		exec(t, s, fmt.Sprintf("set join_collapse_limit = %d", c.limit))
		if jobs := explain(t, s, "", sql).OffloadJoins(); len(jobs) != c.jobs {
			t.Errorf("with join_collapse_limit = %d %d jobs, not %d:\n%s", c.limit, len(jobs), c.jobs,
				strings.Join(query(t, s, "explain "+sql).Rows, "\n"))
		}
	}
}

// searcher is a library that replaces join_search_hook and calls no other one.
const searcher = `
#include "postgres.h"
#include "fmgr.h"
#include "optimizer/paths.h"

PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);

static RelOptInfo *
replaced(PlannerInfo *root, int levels, List *rels)
{
	return standard_join_search(root, levels, rels);
}

void
_PG_init(void)
{
	join_search_hook = replaced;
}
`

// A library that replaces the hook for the search of joins keeps no topmost
// join from being offloaded.
func TestReplacedSearchHook(t *testing.T) {
	w := theWorld(t)
	source := filepath.Join(t.TempDir(), "searcher.c")
	if err := os.WriteFile(source, []byte(searcher), 0o644); err != nil {
		t.Fatal(err)
	}
	library := compileLibrary(t, w.Cluster, source)
	s := w.Session(t, "set gpujoin.debug_force = on", "load '"+library+"'")
	const sql = "select count(*), sum(f.id) from fact f join dim d using (k)"
	for _, blocks := range []string{"off", "on"} {
		exec(t, s, "set gpujoin.enable_aggregates = "+blocks)
		plan := explain(t, s, "", sql)
		if jobs := len(plan.Jobs()); jobs != 1 {
			t.Errorf("with gpujoin.enable_aggregates = %s %d jobs, not 1", blocks, jobs)
		}
	}
}
