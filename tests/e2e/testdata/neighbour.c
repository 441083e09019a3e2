/*
 * neighbour.c - a library of somebody else, which hooks the planner as well.
 *
 * Compiled with one of these definitions:
 *   REPLACES_HOOKS  hooks the planner and all paths, and calls no hook before it
 *   REPLACES_SCANS  calls the hook before it, then scans the table "scanned" by a
 *                   node of its own, which delivers every row twice
 *   EMPTIES_SCANS   the same, but has found out that the table has no rows
 *   SETS_ROWS       the same, but only sets the rows of a function's path
 *   OWNS_RELATIONS  keeps a number in RelOptInfo.fdw_private of any relation
 *   TAKES_NAME      registers a custom scan of that name
 *   DROPS_COLUMNS   drops a column from the first input of each of gpujoin's paths
 *                   when all paths of a query level are there
 */
#include "postgres.h"

#include "access/tableam.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);

#if defined(REPLACES_HOOKS)

static PlannedStmt *
plan(Query *parse, const char *text, int options, ParamListInfo params)
{
	return standard_planner(parse, text, options, params);
}

static void
rel_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
}

static void
join_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
		   JoinType kind, JoinPathExtraData *extra)
{
}

static void
upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
			void *extra)
{
}

void
_PG_init(void)
{
	planner_hook = plan;
	set_rel_pathlist_hook = rel_paths;
	set_join_pathlist_hook = join_paths;
	create_upper_paths_hook = upper_paths;
}

#elif defined(DROPS_COLUMNS)

static create_upper_paths_hook_type previous_upper;

static Path *
without_column(const Path *path)
{
	Path	   *copy = makeNode(Path);

	if (!IsA(path, Path))
		elog(ERROR, "an input is not scanned by a plain path");
	*copy = *path;
	copy->pathtarget = copy_pathtarget(path->pathtarget);
	copy->pathtarget->exprs = list_delete_first(copy->pathtarget->exprs);
	return copy;
}

static void
change(Path *path)
{
	CustomPath *custom = (CustomPath *) path;

	if (IsA(path, GatherPath))
		change(((GatherPath *) path)->subpath);
	else if (IsA(path, ProjectionPath))
		change(((ProjectionPath *) path)->subpath);
	else if (IsA(path, AggPath))
		change(((AggPath *) path)->subpath);
	else if (IsA(path, CustomPath) && strncmp(custom->methods->CustomName, "Offload", 7) == 0)
	{
		if (IsA(linitial(custom->custom_paths), GatherPath))
			change(linitial(custom->custom_paths));
		else
			linitial(custom->custom_paths) = without_column(linitial(custom->custom_paths));
	}
}

static void
upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
			void *extra)
{
	ListCell   *lc;

	if (previous_upper)
		previous_upper(root, stage, input, output, extra);
	if (stage != UPPERREL_FINAL)
		return;
	foreach(lc, output->pathlist)
		change(lfirst(lc));
}

void
_PG_init(void)
{
	previous_upper = create_upper_paths_hook;
	create_upper_paths_hook = upper_paths;
}

#elif defined(TAKES_NAME)

static Node *
make_state(CustomScan *scan)
{
	elog(ERROR, "this node is never executed");
}

static const CustomScanMethods methods = {TAKES_NAME, make_state};

void
_PG_init(void)
{
	RegisterCustomScanMethods(&methods);
}

#else

static set_rel_pathlist_hook_type previous;

#if defined(REPLACES_SCANS)

typedef struct Doubling
{
	CustomScanState css;
	TableScanDesc scan;
	TupleTableSlot *row;
	bool		again;
} Doubling;

static TupleTableSlot *
next(ScanState *state)
{
	Doubling   *d = (Doubling *) state;

	d->again = !d->again;
	if (!d->again)
		return state->ss_ScanTupleSlot;
	if (!table_scan_getnextslot(d->scan, ForwardScanDirection, d->row))
		return ExecClearTuple(state->ss_ScanTupleSlot);
	return ExecCopySlot(state->ss_ScanTupleSlot, d->row);
}

static bool
recheck(ScanState *state, TupleTableSlot *slot)
{
	return true;
}

static void
begin(CustomScanState *css, EState *estate, int flags)
{
	Doubling   *d = (Doubling *) css;

	d->row = table_slot_create(css->ss.ss_currentRelation, &estate->es_tupleTable);
	d->scan = table_beginscan(css->ss.ss_currentRelation, estate->es_snapshot, 0, NULL);
}

static TupleTableSlot *
exec(CustomScanState *css)
{
	return ExecScan(&css->ss, next, recheck);
}

static void
end(CustomScanState *css)
{
	table_endscan(((Doubling *) css)->scan);
}

static void
rescan(CustomScanState *css)
{
	((Doubling *) css)->again = false;
	table_rescan(((Doubling *) css)->scan, NULL);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Doubling",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
};

static Node *
make_state(CustomScan *scan)
{
	Doubling   *d = palloc0(sizeof(Doubling));

	NodeSetTag(d, T_CustomScanState);
	d->css.methods = &exec_methods;
	return (Node *) d;
}

static const CustomScanMethods scan_methods = {"Doubling", make_state};

static Plan *
make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *children)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	scan->scan.scanrelid = rel->relid;
	scan->methods = &scan_methods;
	return (Plan *) scan;
}

static const CustomPathMethods path_methods = {"Doubling", make_plan};

static void
change(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	CustomPath *path = makeNode(CustomPath);

	if (rte->rtekind != RTE_RELATION || strcmp(get_rel_name(rte->relid), "scanned") != 0)
		return;
	path->path = *(Path *) linitial(rel->pathlist);
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &path_methods;
	rel->pathlist = list_make1(path);
	rel->partial_pathlist = NIL;
}

#elif defined(EMPTIES_SCANS)

static void
change(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	if (rte->rtekind != RTE_RELATION || strcmp(get_rel_name(rte->relid), "scanned") != 0)
		return;
	rel->pathlist = list_make1(create_append_path(root, rel, NIL, NIL, NIL, NULL, 0, false, 0));
	rel->partial_pathlist = NIL;
}

#elif defined(SETS_ROWS)

static void
change(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	if (rte->rtekind == RTE_FUNCTION)
		((Path *) linitial(rel->pathlist))->rows = 500000;
}

#elif defined(OWNS_RELATIONS)

static const int own = 4711;

static void
check(RelOptInfo *rel)
{
	if (rel == NULL || rel->fdwroutine != NULL)
		return;
	if (rel->fdw_private != NULL)
		elog(ERROR, "fdw_private of a relation is not ours");
}

/* Looks at it for all relations, but uses it for tables "owned" only. */
static void
change(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	check(rel);
	if (rte->rtekind == RTE_RELATION && strcmp(get_rel_name(rte->relid), "owned") == 0)
		rel->fdw_private = (void *) &own;
}

static set_join_pathlist_hook_type previous_join;

static void
join_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
		   JoinType kind, JoinPathExtraData *extra)
{
	if (previous_join)
		previous_join(root, joinrel, outer, inner, kind, extra);
	check(joinrel);
	for (int i = 1; i < root->simple_rel_array_size; i++)
		if (root->simple_rel_array[i] != NULL && root->simple_rel_array[i]->fdw_private != &own)
			check(root->simple_rel_array[i]);
}

#endif

static void
rel_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (previous)
		previous(root, rel, rti, rte);
	change(root, rel, rte);
}

void
_PG_init(void)
{
	previous = set_rel_pathlist_hook;
	set_rel_pathlist_hook = rel_paths;
#if defined(REPLACES_SCANS)
	RegisterCustomScanMethods(&scan_methods);
#elif defined(OWNS_RELATIONS)
	previous_join = set_join_pathlist_hook;
	set_join_pathlist_hook = join_paths;
#endif
}

#endif
