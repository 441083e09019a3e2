/*
 * plan/block/paths.c - adds the paths of a query block.
 *
 * The daemon sees all rows, so it returns final groups.  PostgreSQL projects
 * them, and sorts and limits them above the node.
 *
 * A serial OffloadBlock feeds its inputs itself.  A parallel one stands above a
 * Gather of OffloadFeed nodes.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "options.h"
#include "plan/block/block.h"
#include "plan/cost/cost.h"
#include "plan/filter/filter.h"
#include "plan/input/input.h"
#include "plan/join/join.h"
#include "plan/native/native.h"
#include "plan/rejected/reasons.h"

/*
 * The daemon holds a result that has a check until all groups are checked.
 * It then takes no more than this many extents, half of the default window.
 */
#define HELD_EXTENTS 8
#define HELD_COLUMN_WIDTH 8

/* What is the same for both variants of a block. */
typedef struct QueryBlock
{
	PlannerInfo *root;
	RelOptInfo *output;
	const struct gj_status *status;
	GjGrouping *grouping;
	GjAggregation *aggregations[GJ_VARIANTS];	/* of the trees */
	Path	   *native;			/* the fallback of both variants */
	Path		cheapest;		/* the node that native is a copy of: core may
								 * free it when it has added the first variant */
	GjRival		rival;			/* cheapest */
	bool		promised;		/* a path was added that is worth it once the daemon has
								 * kept what it can keep */
} QueryBlock;

/* ---- the expressions that the node delivers ---- */

/*
 * Collects the keys, columns and Aggrefs of an expression.  Returns true if it
 * needs something else.
 */
static bool
collect_leaves(Node *node, QueryBlock *block)
{
	if (node == NULL)
		return false;
	if (list_member(block->grouping->keys, node) || IsA(node, Aggref) ||
		(IsA(node, GroupingFunc) && block->grouping->sets != NIL) ||
		(IsA(node, Var) && ((Var *) node)->varlevelsup == 0) ||
		(IsA(node, PlaceHolderVar) && gj_column(block->root, (Expr *) node) != NULL))
	{
		block->grouping->leaves = list_append_unique(block->grouping->leaves, node);
		return false;
	}

	/* core makes GROUP BY of a single set, and keeps the calls of GROUPING() */
	if (IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc) || IsA(node, WindowFunc))
		return true;
	return expression_tree_walker(node, collect_leaves, block);
}

static GjReject
check_expressions(QueryBlock *block)
{
	PlannerInfo *root = block->root;
	ListCell   *lc;

	block->grouping->keys = get_sortgrouplist_exprs(block->grouping->clauses, root->processed_tlist);
	block->grouping->leaves = list_copy(block->grouping->keys);
	if (contain_volatile_functions((Node *) block->output->reltarget->exprs) ||
		contain_volatile_functions((Node *) block->grouping->having))
		return GJ_REJECT_VOLATILE;
	foreach(lc, block->output->reltarget->exprs)
		if (collect_leaves(lfirst(lc), block))
			return GJ_REJECT_EXPRESSION;
	if (collect_leaves((Node *) block->grouping->having, block))
		return GJ_REJECT_EXPRESSION;

	/* a job has results: a subquery may deliver columns that nothing reads */
	return block->grouping->leaves == NIL ? GJ_REJECT_VALUE : GJ_ACCEPTED;
}

/*
 * count(*) of a single table reads no column, but an input of a job has one.
 * A page feed may read any that can be fed, the daemon any of a mirror.
 */
static bool
lacks_column(const QueryBlock *block, const GjTree *tree)
{
	const RelOptInfo *rel;

	if (tree->source == NULL ||
		pull_var_clause((Node *) block->grouping->leaves,
						PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS) != NIL)
		return false;
	rel = tree->source->rel;
	return tree->source->feed == GJ_FEED_CHILD || block->root->simple_rte_array[rel->relid]->inh ||
		gj_cheapest_column(block->root->simple_rte_array[rel->relid], rel->relid) == NULL;
}

/* Can the daemon execute the block with this tree of joins? */
static GjReject
check_tree(QueryBlock *block, GjVariant variant, const GjTree *tree)
{
	GjAggregation *aggregation = palloc(sizeof(GjAggregation));
	GjReject	reject;

	if (lacks_column(block, tree))
		return GJ_REJECT_NO_COLUMN;
	if (!tree->ships_deferred)
		return GJ_REJECT_VALUE;
	if (block->grouping->sets != NIL && tree->ninputs == GJ_MAX_INPUTS)
		return GJ_REJECT_TOO_LARGE;
	reject = gj_translate_aggregation(block->root, tree, block->grouping, aggregation);
	if (reject != GJ_ACCEPTED)
		return reject;
	block->aggregations[variant] = aggregation;
	return gj_aggregation_fits(aggregation, tree) ? GJ_ACCEPTED : GJ_REJECT_TOO_LARGE;
}

/* The columns of a result that has a check; 0: it has none. */
static int
held_columns(const GjAggregation *aggregation)
{
	return aggregation->check != NULL ? aggregation->result->ncolumns : 0;
}

/* ---- costs ---- */

/* The groups of all grouping sets. */
static double
groups_of_sets(const GroupingSetsPath *path)
{
	double		groups = 0;
	ListCell   *lc;

	foreach(lc, path->rollups)
		groups += lfirst_node(RollupData, lc)->numGroups;
	return Max(groups, 1);
}

/* The groups that a native plan expects before HAVING. */
static double
native_groups(const Path *native)
{
	double		rows = native->rows;

	while (native != NULL && !IsA(native, AggPath) && !IsA(native, GroupingSetsPath))
	{
		if (IsA(native, ProjectionPath))
			native = ((const ProjectionPath *) native)->subpath;
		else if (IsA(native, GatherPath))
			native = ((const GatherPath *) native)->subpath;
		else
			break;
	}
	if (native != NULL && IsA(native, AggPath))
		return Max(((const AggPath *) native)->numGroups, 1);
	if (native != NULL && IsA(native, GroupingSetsPath))
		return groups_of_sets((const GroupingSetsPath *) native);
	return rows;
}

/* The same with our own estimate of the tree's rows. */
static double
expected_groups(const QueryBlock *block, const GjTree *tree)
{
	return block->grouping->keys == NIL ? 1 :
		gj_grown_groups(native_groups(block->native), tree->rows / Max(tree->growth, 1), tree->rows);
}

/* The groups by all keys, whose copies for each grouping set are combined. */
static double
finest_groups(const QueryBlock *block, const GjTree *tree)
{
	if (block->grouping->keys == NIL)
		return 1;
	return estimate_num_groups(block->root, block->grouping->keys, tree->rows, NULL, NULL);
}

static Cost
aggregation_cost(const QueryBlock *block, double rows, double groups)
{
	return gj_aggregation_cost(block->status, rows, groups, block->grouping->keys,
							   block->grouping->leaves);
}

static Cost
grouping_cost(const QueryBlock *block, const GjBlockPath *path)
{
	double		rows = path->tree->rows;
	int			sets = list_length(block->grouping->sets);

	if (sets == 0)
		return aggregation_cost(block, rows, path->groups);
	return aggregation_cost(block, rows, path->finest_groups) +
		aggregation_cost(block, path->finest_groups * sets, path->groups);
}

/* rows is core's estimate. */
static void
cost_block(const QueryBlock *block, double rows, GjBlockPath *block_path)
{
	Path	   *path = &block_path->cpath.path;
	QualCost	target = block->output->reltarget->cost;
	double		weight = 2 * list_length(block->grouping->leaves);

	gj_set_disabled(path, gj_debug_force ? 0 : block_path->tree->disabled);
	path->rows = rows;
	path->startup_cost = gj_job_cost(block_path->tree) + target.startup +
		grouping_cost(block, block_path);
	path->total_cost = path->startup_cost + gj_return_cost(block_path->groups, weight) +
		rows * block_path->growth * target.per_tuple;
	if (gj_debug_force)
	{
		path->startup_cost *= GJ_FORCED_COST_FACTOR;
		path->total_cost *= GJ_FORCED_COST_FACTOR;
	}
}

/* ---- paths ---- */

/* A path for the block's own node: with inputs, or above a Gather. */
static GjBlockPath *
make_path(const QueryBlock *block, GjVariant variant, GjTree *tree)
{
	double		expected = native_groups(block->native);
	GjBlockPath *path = palloc0(sizeof(GjBlockPath));
	CustomPath *cpath = &path->cpath;

	path->variant = variant;
	path->tree = tree;
	path->aggregation = block->aggregations[variant];
	path->native_cost = block->native->total_cost;
	path->native_ns = block->rival.ns;
	path->groups = expected_groups(block, tree);
	path->growth = path->groups / expected;
	if (block->grouping->sets != NIL)
		path->finest_groups = finest_groups(block, tree);
	NodeSetTag(cpath, T_CustomPath);
	cpath->path.pathtype = T_CustomScan;
	cpath->path.parent = block->output;
	cpath->path.pathtarget = block->output->reltarget;
	return path;
}

/* Makes a path's cost, which is one of plan/cost/cost.h, comparable with core's. */
static void
convert_cost(Path *path, double unit)
{
	path->startup_cost *= unit;
	path->total_cost *= unit;
}

/*
 * A path that is not worth it now, but will be far better than the native one when it has
 * been used again.  It costs a little less than the native path: that is what runs until
 * then, and what plans above should expect.
 */
#define PROMISED_COST 0.98

static bool
is_promised(QueryBlock *block, const GjBlockPath *path, Cost cost)
{
	if (block->promised || block->rival.ns <= 0 ||
		!gj_is_promising(path->tree, cost, block->rival.ns))
		return false;
	block->promised = true;
	return true;
}

static void
charge_promised(const QueryBlock *block, Path *path)
{
	path->startup_cost = path->total_cost = PROMISED_COST * block->cheapest.total_cost;
}

static void
add_serial(QueryBlock *block, GjTree *tree)
{
	GjBlockPath *path = make_path(block, GJ_SERIAL, tree);
	CustomPath *cpath = &path->cpath;
	double		unit;

	cpath->custom_paths = gj_children(tree, block->native);
	gj_share_scans(block->root, cpath->custom_paths, block->native);
	cpath->methods = &gj_block_path_methods;
	cost_block(block, block->native->rows, path);
	unit = gj_unit(&block->rival, cpath->path.total_cost);
	path->time = gj_own_time(&block->rival, cpath->path.total_cost, unit, path->growth);
	path->promised = is_promised(block, path, cpath->path.total_cost);
	if (path->promised)
		charge_promised(block, &cpath->path);
	else
		convert_cost(&cpath->path, unit);
	gj_note_block(block->output, &cpath->path);
	add_path(block->output, &cpath->path);
}

/*
 * The participants of a Gather feed.  Its leader reads the groups, so that they
 * do not pass between processes.  The node above it runs the native plan if
 * they cannot: that may have a Gather of its own, and core has no plan whose
 * participants would share final groups.
 */
static void
add_parallel(QueryBlock *block, GjTree *tree)
{
	GjBlockPath *feed = make_path(block, GJ_PARALLEL, tree);
	GjBlockPath *top = palloc0(sizeof(GjBlockPath));
	CustomPath *above = &top->cpath;
	Path	   *native = block->native;
	GatherPath *gather;

	feed->cpath.custom_paths = gj_children(tree, NULL);
	gj_share_scans(block->root, feed->cpath.custom_paths, native);
	feed->cpath.methods = &gj_feed_path_methods;
	feed->cpath.path.parallel_aware = true;
	feed->cpath.path.parallel_safe = true;
	feed->cpath.path.parallel_workers = tree->workers;
	cost_block(block, native->rows, feed);
	gather = create_gather_path(block->root, block->output, &feed->cpath.path,
								block->output->reltarget, NULL, &feed->cpath.path.rows);
	if (parallel_leader_participation)
		gather->path.total_cost -= parallel_tuple_cost * native->rows;

	NodeSetTag(above, T_CustomPath);
	above->path = feed->cpath.path;
	above->path.parallel_aware = false;
	above->path.parallel_safe = false;
	above->path.parallel_workers = 0;
	above->custom_paths = list_make2(gather, native);
	above->methods = &gj_block_path_methods;
	if (gj_debug_force)
	{
		/* a serial block is charged nothing for what the workers save */
		above->path.startup_cost /= 2;
		above->path.total_cost /= 2;
	}
	else
	{
		double		unit = gj_unit(&block->rival, gather->path.total_cost);

		above->path.startup_cost = gather->path.startup_cost;
		above->path.total_cost = gather->path.total_cost;
		top->time = gj_own_time(&block->rival, above->path.total_cost, unit, feed->growth);
		feed->promised = is_promised(block, feed, above->path.total_cost);
		convert_cost(&feed->cpath.path, unit);
		convert_cost(&gather->path, unit);
		if (feed->promised)
			charge_promised(block, &above->path);
		else
			convert_cost(&above->path, unit);
	}
	gj_note_block(block->output, &above->path);
	add_path(block->output, &above->path);
}

/*
 * Finds the native path, before a path of ours is added: core would drop native
 * paths that ours dominates, and then the other variant would be compared with what
 * is left, and have it as its fallback.
 */
static GjReject
find_native(QueryBlock *block)
{
	const Path *cheapest;

	block->native = gj_native_upper(block->output, &cheapest);
	if (block->native == NULL)
		return GJ_REJECT_NATIVE;
	block->cheapest = *cheapest;
	block->rival = gj_rival(block->root, cheapest, true);
	block->rival.path = &block->cheapest;
	return GJ_ACCEPTED;
}

static GjReject
add_paths(QueryBlock *block, GjVariant variant, GjTree *tree)
{
	GjReject	reject = gj_check_memory(block->status, tree->bytes);

	if (reject != GJ_ACCEPTED)
		return reject;
	if (expected_groups(block, tree) * held_columns(block->aggregations[variant]) * HELD_COLUMN_WIDTH >
		(double) HELD_EXTENTS * block->status->extent_size)
		return GJ_REJECT_GROUP_KEY;
	gj_choose_filters(block->root, tree);
	if (variant == GJ_SERIAL)
		add_serial(block, tree);
	else
		add_parallel(block, tree);
	return GJ_ACCEPTED;
}

GjReject
gj_add_block_paths(PlannerInfo *root, RelOptInfo *output, GjTree **trees, List *clauses,
			   List *sets, List *having)
{
	QueryBlock	block = {
		.root = root,
		.output = output,
		.grouping = palloc0(sizeof(GjGrouping)),
		.status = gj_query_daemon(gj_query(root)),
	};
	GjReject	reject;

	block.grouping->clauses = clauses;
	block.grouping->sets = sets;
	block.grouping->having = having;
	if (block.status == NULL)
		return gj_reject_daemon(gj_query(root)->daemon);
	reject = check_expressions(&block);
	if (reject == GJ_ACCEPTED)
		reject = check_tree(&block, GJ_SERIAL, trees[GJ_SERIAL]);
	if (reject == GJ_ACCEPTED)
		reject = find_native(&block);
	if (reject != GJ_ACCEPTED)
		return reject;

	if (output->consider_parallel && !gj_verify && trees[GJ_PARALLEL] != NULL &&
		trees[GJ_PARALLEL]->workers > 0 &&
		check_tree(&block, GJ_PARALLEL, trees[GJ_PARALLEL]) == GJ_ACCEPTED)
		(void) add_paths(&block, GJ_PARALLEL, trees[GJ_PARALLEL]);
	return add_paths(&block, GJ_SERIAL, trees[GJ_SERIAL]);
}
