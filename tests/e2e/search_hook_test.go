package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

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
