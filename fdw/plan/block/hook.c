/*
 * plan/block/hook.c - the upper-path hook: which query blocks are considered.
 *
 * A block is the joins of one query level, or a single table, and the
 * aggregation or the DISTINCT above them.
 */
#include "postgres.h"

#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/memutils.h"

#include "compat.h"
#include "options.h"
#include "plan/block/block.h"
#include "plan/input/input.h"
#include "plan/native/native.h"
#include "plan/rejected/reasons.h"

/* ---- the only table of a block ---- */

/*
 * A table that is joined is decided by the first join with it, after all hooks for
 * its paths have run.  The first hook after those for the only table of a query
 * level comes when core has replaced what the decision needs.  So this is
 * remembered in the table's hook, and the decision is made later: a library loaded
 * after this one may replace the scans after our hook.
 */

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
		case T_ForeignPath:
			return sizeof(ForeignPath);
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

/* ---- hook ---- */

static create_upper_paths_hook_type previous_upper_hook;
static set_rel_pathlist_hook_type previous_rel_hook;

/* ---- the block's tree ---- */

static GjReject
find_trees(PlannerInfo *root, RelOptInfo *input, GjTree **trees)
{
	GjReject	reject = GJ_REJECT_SIDE;

	trees[GJ_SERIAL] = trees[GJ_PARALLEL] = NULL;
	if (input->reloptkind == RELOPT_BASEREL)
	{
		GjBaserel  *base = gj_scanned_base(root, input);

		if (base == NULL)
			return GJ_REJECT_NOT_A_TABLE;
		if (base->reject != GJ_ACCEPTED)
			return base->reject;
		memcpy(trees, base->trees, sizeof(base->trees));
	}
	else if (input->reloptkind == RELOPT_JOINREL)
	{
		GjJoinrel  *state = gj_joinrel_state(input);

		if (state != NULL)
		{
			memcpy(trees, state->trees, sizeof(state->trees));
			if (state->reject != GJ_ACCEPTED)
				reject = state->reject;
		}
	}
	return trees[GJ_SERIAL] != NULL ? GJ_ACCEPTED : reject;
}

/* ---- hooks ---- */

static bool
may_be_block(const PlannerInfo *root)
{
	const Query *parse = root->parse;

	return gj_enable_aggregates && (parse->hasAggs || parse->groupClause != NIL || parse->distinctClause != NIL);
}

/*
 * The rows that are read.  A page feed saves time with each row of its table,
 * also with those that fail its conditions.
 */
static double
rows_read(const GjTree *tree)
{
	if (tree->source != NULL && tree->source->feed == GJ_FEED_PAGE)
		return tree->source->tuples;
	return tree->rows_read;
}

/* Which parts of the query level can no block have? */
static GjReject
check_level(const Query *parse, bool distinct)
{
	if (distinct && (parse->hasDistinctOn || parse->hasAggs || parse->groupClause != NIL ||
					 parse->groupingSets != NIL || parse->hasWindowFuncs))
		return GJ_REJECT_DISTINCT;
	return parse->hasTargetSRFs ? GJ_REJECT_SET_RETURNING : GJ_ACCEPTED;
}

/*
 * The clauses of the keys.  core may drop a key that equals a constant or
 * another key.  We keep it: without keys there would be a group of no rows, and
 * values that are equal may look different.  What depends on a primary key is
 * no key for us either.
 */
static List *
group_clauses(PlannerInfo *root)
{
	List	   *needed = gj_needed_group_clauses(root);
	List	   *clauses = NIL;
	List	   *tlist = root->processed_tlist;
	ListCell   *lc;

	if (!grouping_is_sortable(root->parse->groupClause))
		return root->parse->groupClause;
	foreach(lc, root->parse->groupClause)
	{
		List	   *both = lappend(list_copy(needed), lfirst(lc));

		/* a key that adds nothing to their order has a value equal to theirs */
		if (list_member_ptr(needed, lfirst(lc)) ||
			list_length(make_pathkeys_for_sortclauses(root, both, tlist)) ==
			list_length(make_pathkeys_for_sortclauses(root, needed, tlist)))
			clauses = lappend(clauses, lfirst(lc));
	}
	return clauses;
}

static GjReject
consider(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, bool distinct)
{
	GjTree	   *trees[GJ_VARIANTS];
	GjReject	reject = check_level(root->parse, distinct);

	if (reject == GJ_ACCEPTED)
		reject = find_trees(root, input, trees);
	if (reject != GJ_ACCEPTED)
		return reject;
	if (!gj_query(root)->no_rechecks)
		return GJ_REJECT_COMMAND;
	if (!gj_debug_force && !trees[GJ_SERIAL]->mirrored && rows_read(trees[GJ_SERIAL]) < gj_min_rows)
		return GJ_REJECT_SIZE;
	/* its job would run once for each row of the outer query */
	if (gj_is_correlated(root))
		return GJ_REJECT_CORRELATED;
	if (!distinct)
		return gj_add_block_paths(root, output, trees, group_clauses(root),
							  root->parse->groupingSets, (List *) root->parse->havingQual);

	/* core sets this since 16 */
	output->reltarget = root->upper_targets[UPPERREL_DISTINCT];
	return gj_add_block_paths(root, output, trees, root->parse->distinctClause, NIL, NIL);
}

/* A query level without tables is not worth a notice. */
static bool
reads_tables(PlannerInfo *root)
{
	int			relid = bms_next_member(root->all_baserels, -1);

	return relid >= 0 && root->simple_rte_array[relid]->rtekind != RTE_RESULT;
}

static void
upper_hook(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
		   RelOptInfo *output_rel, void *extra)
{
	GjBlockState *state = NULL;
	GjReject	reject;

	if (previous_upper_hook)
		previous_upper_hook(root, stage, input_rel, output_rel, extra);
	if (!gj_enabled || (stage != UPPERREL_GROUP_AGG && stage != UPPERREL_DISTINCT) ||
		!may_be_block(root) || IS_OTHER_REL(input_rel))
		return;
	if (gj_explain_rejected && reads_tables(root))
		state = gj_make_block_state(output_rel, root->all_baserels);
	reject = consider(root, input_rel, output_rel, stage == UPPERREL_DISTINCT);
	if (state != NULL)
		state->reject = reject;
}

static void
rel_hook(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (previous_rel_hook)
		previous_rel_hook(root, rel, rti, rte);
	if (gj_enabled && rel->reloptkind == RELOPT_BASEREL && may_be_block(root) &&
		bms_membership(root->all_baserels) == BMS_SINGLETON)
		gj_remember_scan(root, rel);
}

void
gj_install_block_hooks(void)
{
	previous_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = upper_hook;
	previous_rel_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = rel_hook;
}
