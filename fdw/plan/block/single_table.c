/*
 * plan/block/single_table.c - the only table of a block.
 *
 * A table that is joined is decided by the first join with it, after all hooks for
 * its paths have run.  The first hook after those for the only table of a query
 * level comes when core has replaced what the decision needs.  So this is
 * remembered in the table's hook, and the decision is made later: a library loaded
 * after this one may replace the scans after our hook.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "plan/block/single_table.h"
#include "plan/input/relation.h"
#include "plan/native/walk.h"

/* The fields of a RelOptInfo that core replaces. */
struct GjScan
{
	PathTarget *target;
	List	   *paths;
	List	   *partial_paths;
	Path	   *cheapest;
	bool		consider_parallel;
	Relids		scanned;		/* relations that the paths scanned */
};

static Size
path_size(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_Path:
			return sizeof(Path);
		case T_BitmapHeapPath:
			return sizeof(BitmapHeapPath);
		case T_TidPath:
			return sizeof(TidPath);
		case T_TidRangePath:
			return sizeof(TidRangePath);
		case T_SubqueryScanPath:
			return sizeof(SubqueryScanPath);
		case T_AppendPath:
			return sizeof(AppendPath);
		case T_MergeAppendPath:
			return sizeof(MergeAppendPath);
		case T_MaterialPath:
			return sizeof(MaterialPath);
		case T_ProjectionPath:
			return sizeof(ProjectionPath);
		case T_GatherPath:
			return sizeof(GatherPath);
		case T_GatherMergePath:
			return sizeof(GatherMergePath);
		case T_GroupResultPath:
			return sizeof(GroupResultPath);
		default:
			return 0;
	}
}

/*
 * Copies of paths.  core frees a path, but not those below it, when it adds a
 * better one, such as a Gather.  It never frees paths of an index.
 */
static List *
kept_paths(const List *paths)
{
	List	   *kept = NIL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);
		Size		size = path_size(path);

		if (size > 0)
			kept = lappend(kept, memcpy(palloc(size), path, size));
		else if (IsA(path, IndexPath))
			kept = lappend(kept, path);
	}
	return kept;
}

/* Adds the relations whose rows the path reads: none of an empty Append. */
static void
add_scanned(Path *path, Relids *scanned)
{
	List	   *children = IsA(path, SubqueryScanPath) ? NIL : gj_path_children(path);
	ListCell   *lc;

	if (children == NIL && !IsA(path, AppendPath))
		*scanned = bms_add_members(*scanned, path->parent->relids);
	foreach(lc, children)
		add_scanned(lfirst(lc), scanned);
}

static Relids
scanned_relids(const RelOptInfo *rel)
{
	Relids		scanned = NULL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
		add_scanned(lfirst(lc), &scanned);
	foreach(lc, rel->partial_pathlist)
		add_scanned(lfirst(lc), &scanned);
	return scanned;
}

void
gj_remember_scan(PlannerInfo *root, RelOptInfo *rel)
{
	GjBaserel  *base = gj_base_slot(rel);
	MemoryContext old;

	if (base == NULL)
		return;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(rel));
	base->scan = palloc0(sizeof(GjScan));
	base->scan->target = rel->reltarget;
	base->scan->paths = kept_paths(rel->pathlist);
	base->scan->partial_paths = kept_paths(rel->partial_pathlist);
	base->scan->consider_parallel = rel->consider_parallel;
	base->scan->scanned = scanned_relids(rel);
	MemoryContextSwitchTo(old);
}

/*
 * Did a library replace the scan after it was remembered?  It may do so with nodes
 * of its own, or with scans of other tables.
 */
static bool
is_replaced(const RelOptInfo *rel, const GjScan *scan)
{
	return gj_has_foreign_path(rel) || !bms_equal(scanned_relids(rel), scan->scanned);
}

/* Exchanges the fields of the relation for those of the scan. */
static void
exchange(RelOptInfo *rel, GjScan *scan)
{
	GjScan		other = {
		.target = rel->reltarget,
		.paths = rel->pathlist,
		.partial_paths = rel->partial_pathlist,
		.cheapest = rel->cheapest_total_path,
		.consider_parallel = rel->consider_parallel,
		.scanned = scan->scanned,
	};

	rel->reltarget = scan->target;
	rel->pathlist = scan->paths;
	rel->partial_pathlist = scan->partial_paths;
	rel->cheapest_total_path = scan->cheapest;
	rel->consider_parallel = scan->consider_parallel;
	*scan = other;
}

GjBaserel *
gj_scanned_base(PlannerInfo *root, RelOptInfo *rel)
{
	GjBaserel  *base = gj_base_slot(rel);

	if (base == NULL || base->decided)
		return base;
	if (base->scan == NULL)
		return NULL;
	if (is_replaced(rel, base->scan))
	{
		base->decided = true;
		base->reject = GJ_REJECT_FOREIGN;
		return base;
	}
	(void) gj_query(root);		/* its facts are those of the plan, not of the scan */
	exchange(rel, base->scan);
	(void) gj_base(root, rel);
	exchange(rel, base->scan);
	return base;
}
