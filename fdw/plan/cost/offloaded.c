/*
 * plan/cost/offloaded.c - costs of an offloaded join's steps, in the planner's unit.
 *
 * Settings give the price of the backend's work on the machine of plan/cost/rates.h,
 * and are scaled like the rates.  The price of the daemon's
 * work comes from the rates that it measured on this machine and published in
 * its status file.  The daemon selects its algorithms by the same rates.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/spccache.h"

#include "compat.h"
#include "options.h"
#include "plan/cost/cost.h"
#include "plan/cost/rates.h"

/* ---- how many processes share the work of a parallel path ---- */

/* as the daemon's status file said when it was last read */
GjMachine	gj_machine = {
	.cpu = 1, .memory = 1, .cached_bytes = 2e6, .uncached_bytes = 128e6, .processors = 1
};

/* A measurement may be wrong, but hardly any machine differs that much. */
#define MOST_SCALE 4

static double
scale(double measured, double reference)
{
	return Min(Max(measured / reference, 1.0 / MOST_SCALE), MOST_SCALE);
}

void
gj_set_machine(const struct gj_status *status)
{
	gj_machine.cpu = scale(status->cached_probe_ns, REFERENCE_PROBE_NS);
	gj_machine.memory = scale(status->memory_load_ns, REFERENCE_LOAD_NS);
	gj_machine.cached_bytes = status->cached_bytes;
	gj_machine.uncached_bytes = status->uncached_bytes;
	gj_machine.processors = status->processors;
}

double
gj_divisor(int workers)
{
	double		divisor = workers;

	/* more workers leave the leader less time to help (costsize.c) */
	if (parallel_leader_participation && workers > 0)
		divisor += Max(0, 1.0 - 0.3 * workers);
	return Max(1, divisor);
}

double
gj_speedup(int workers)
{
	bool		leader = workers == 0 || parallel_leader_participation;

	return Min(workers + leader, gj_machine.processors);
}

int
gj_most_workers(void)
{
	return Max(1, gj_machine.processors - (parallel_leader_participation ? 1 : 0));
}

/* ---- the steps of an offloaded plan ---- */

#define FIRST_RATE_LOG2 10		/* layout.h: build sizes 2^(10 + 2 i) */
#define RATE_LOG2_STEP 2
#define RATED_COLUMNS 2			/* payloads that the rates include */
#define FIRST_GROUPS_LOG2 4		/* 2^(4 + 6 i) groups */
#define GROUPS_LOG2_STEP 6
#define KEY_FUNCTIONS 2			/* a further key takes as long as so many
								 * functions */
#define GROUP_HEADER 48			/* bytes of a group besides its keys */

Cost
gj_page_scan_cost(PlannerInfo *root, RelOptInfo *rel, const GjAmount *read, int workers)
{
	double		speedup = gj_speedup(workers);
	double		missing = gj_missing_pages(root);
	double		page_cost;
	double		by_row;

	get_tablespace_page_costs(rel->reltablespace, NULL, &page_cost);
	page_cost *= missing + (1 - missing) * gj_cached_page_cost * gj_machine.cpu / speedup;

	/* a page feed counts as a sequential scan */
	return read->scans * gj_scan_disable_cost() + page_cost * read->pages +
		read->tuples * gj_page_conditions_ns(rel->baserestrictinfo, &by_row) * GJ_NS_COST / speedup;
}

Cost
gj_page_fill_cost(const GjAmount *read, double weight, int workers)
{
	return (read->tuples * gj_page_row_cost + read->walked * gj_page_walk_cost +
			read->rows * weight * gj_page_column_cost) * gj_machine.cpu / gj_speedup(workers);
}

Cost
gj_child_fill_cost(const Path *child, double weight)
{
	return child->rows * (gj_child_row_cost + weight * gj_child_column_cost) * gj_machine.cpu;
}

/*
 * PostgreSQL's own expressions are evaluated only for rows that pass the
 * filters.  They are a part of the scan, which has no margin.
 */
static Cost
expressions_saving(const GjSource *source, double passing)
{
	double		by_row;

	(void) gj_page_conditions_ns(source->rel->baserestrictinfo, &by_row);
	return source->tuples * by_row * (1 - passing) * GJ_NS_COST / (1 + gj_cost_margin);
}

double
gj_filter_ns(GjForm form, int length, int width)
{
	double		ns = FILTER_HASH_NS + FILTER_WORD_NS * Max(width, 0) / sizeof(uint64);

	if (form == GJ_FORM_DECIMAL || (length > 0 && length <= (int) sizeof(int64)))
		return FILTER_NS;
	if (form == GJ_FORM_NUMERIC_KEY)
		ns += FILTER_NUMERIC_NS;
	return length < 0 || form == GJ_FORM_NAME_KEY ? ns + FILTER_LENGTH_NS : ns;
}

/* Copying the columns of a row. */
static double
copy_cost(const GjSource *source, double weight)
{
	return weight * gj_machine.cpu *
		(source->feed == GJ_FEED_PAGE ? gj_page_column_cost : gj_child_column_cost);
}

bool
gj_filter_pays(const GjSource *source, double weight, double ns, double passing)
{
	return (1 - passing) * (copy_cost(source, weight) + FED_ROW_NS * GJ_NS_COST) >
		ns * GJ_NS_COST;
}

Cost
gj_filter_saving(const GjSource *source, double weight, double ns, double passing,
				 int workers)
{
	bool		page = source->feed == GJ_FEED_PAGE;
	double		rows = page ? source->rel->rows : source->path->rows;
	Cost		saving = source->fed * rows * (copy_cost(source, weight) * (1 - passing) - ns * GJ_NS_COST);

	return page ? (saving + source->fed * expressions_saving(source, passing)) / gj_speedup(workers) : saving;
}

/*
 * Interpolates the rates for this tree's build size between the measured
 * sizes.
 */
void
gj_rate(const struct gj_status *status, GjTree *tree)
{
	double		at = (log2(Max(tree->rows, 1)) - FIRST_RATE_LOG2) / RATE_LOG2_STEP;
	int			i;

	at = Min(Max(at, 0), GJ_RATE_POINTS - 1);
	i = Min((int) at, GJ_RATE_POINTS - 2);
	at -= i;
	tree->build_ns = status->build_ns[i] + at * (status->build_ns[i + 1] - status->build_ns[i]);
	tree->probe_ns = status->probe_ns[i] + at * (status->probe_ns[i + 1] - status->probe_ns[i]);
}

static double
hash_ns(const GjTree *build, const GjTree *probe)
{
	return build->rows * build->build_ns + probe->rows * build->probe_ns;
}

/*
 * Returns the number of cores that the daemon's next job can expect.
 *
 * The daemon divides its threads among the jobs that run and those that are
 * queued.  The new job is not added to them: the load may be a tenth of a
 * second old.  Of a session that runs one join after another, it then still
 * counts the last one, which the new one replaces.  The processor share is not
 * used: it describes the last seconds, so one join would make the next one
 * look expensive on a machine that is idle again.
 */
static double
cores(const struct gj_status *status)
{
	const struct gj_load *load = &status->load;
	double		jobs = Max(1.0, (double) load->running + load->queued);

	if (load->beats == 0 || load->threads == 0)
		return status->cores;	/* unknown */
	return Min(load->threads, status->cores) / jobs;
}

/* The cost of ns nanoseconds of work that all cores share. */
static Cost
cores_cost(const struct gj_status *status, double ns)
{
	return ns / cores(status) * gj_ns_cost;
}

Cost
gj_daemon_cost(const struct gj_status *status, const GjTree *left,
			   const GjTree *right, double rows, int columns)
{
	double		ns = Min(hash_ns(left, right), hash_ns(right, left));

	ns += rows * Max(0, columns - RATED_COLUMNS) * status->column_ns;
	return cores_cost(status, ns);
}

Cost
gj_condition_cost(const struct gj_status *status, double rows, int conditions)
{
	/* each reads about two columns of rows in the order of the matches */
	return cores_cost(status, rows * conditions * (2 * status->column_ns + status->condition_ns));
}

Cost
gj_kept_cost(const struct gj_status *status, const RelOptInfo *rel, double tuples)
{
	return cores_cost(status, tuples * gj_kept_conditions_ns(status, rel->baserestrictinfo));
}

/* The rate of grouping, interpolated between the measured numbers of groups. */
static double
group_ns(const struct gj_status *status, double groups)
{
	double		at = (log2(Max(groups, 1)) - FIRST_GROUPS_LOG2) / GROUPS_LOG2_STEP;
	int			i;

	at = Min(Max(at, 0), GJ_GROUP_POINTS - 1);
	i = Min((int) at, GJ_GROUP_POINTS - 2);
	at -= i;
	return status->group_ns[i] + at * (status->group_ns[i + 1] - status->group_ns[i]);
}

/*
 * ns per row for the bytes of keys such as texts.  They are hashed, copied to a
 * new group, and compared with those of a group, which are elsewhere in memory.
 */
static double
wide_keys_ns(double groups, const List *keys)
{
	double		width = GROUP_HEADER;
	int			wide = 0;
	ListCell   *lc;

	foreach(lc, keys)
	{
		const Node *key = lfirst(lc);
		Oid			type = getBaseType(exprType(key));

		width += get_typavgwidth(type, exprTypmod(key));
		/* the daemon groups by numerics as integers */
		if (!get_typbyval(type) && type != NUMERICOID)
			wide++;
	}
	return wide * (WIDE_KEY_NS + gj_cache_misses(groups * width) * WIDE_KEY_MISS_NS);
}

/* What a value's or a condition's evaluation is made of. */
typedef struct Parts
{
	int			operations;
	int			conditions;
} Parts;

static bool
count_parts(Node *node, Parts *parts)
{
	if (node == NULL)
		return false;
	if (IsA(node, ScalarArrayOpExpr) || IsA(node, CaseWhen) || IsA(node, NullTest))
		parts->conditions++;
	else if (IsA(node, OpExpr) && ((OpExpr *) node)->opresulttype == BOOLOID)
		parts->conditions++;
	else if (IsA(node, OpExpr) || IsA(node, FuncExpr))
		parts->operations++;
	return expression_tree_walker(node, count_parts, parts);
}

Cost
gj_aggregation_cost(const struct gj_status *status, double rows, double groups,
					const List *keys, const List *leaves)
{
	Parts		parts = {0};
	int			more = list_length(leaves) - list_length(keys) - 1;

	/* the measured rates are those of one integer key and one function */
	(void) count_parts((Node *) leaves, &parts);
	for (int k = 1; k < list_length(keys); k++)
		more += KEY_FUNCTIONS;
	return cores_cost(status, rows * (group_ns(status, groups) + wide_keys_ns(groups, keys) +
									  Max(more, 0) * status->function_ns +
									  parts.operations * status->operation_ns +
									  parts.conditions * status->condition_ns));
}

/*
 * Adds the margin to a cost that is not PostgreSQL's own and may be less
 * accurate.
 */
static Cost
with_margin(Cost cost)
{
	return cost * (1 + gj_cost_margin);
}

Cost
gj_job_cost(const GjTree *tree)
{
	return tree->scan_cost +
		with_margin(gj_startup_cost * gj_machine.cpu + tree->feed_cost - tree->scan_cost + tree->join_cost -
					(tree->key_filters != NULL ? tree->key_filters->saved : 0));
}

Cost
gj_scan_job_cost(const struct gj_status *status, const RelOptInfo *rel)
{
	return with_margin(gj_startup_cost * gj_machine.cpu +
					   (status != NULL ? gj_kept_cost(status, rel, rel->tuples) : cpu_operator_cost * rel->tuples));
}

bool
gj_relies_on_kept(const GjTree *tree, Cost cost, Cost native_cost)
{
	return !gj_debug_force && tree->kept_saving > 0 &&
		cost * (1 + with_margin(tree->kept_saving) / gj_job_cost(tree)) >= native_cost;
}

/*
 * One use is an attempt that ends with the native plan, and the next one feeds all rows to
 * keep them.  So each later use must gain much, and few of them must make up for it.
 */
#define PROMISING_FACTOR 2
#define PROMISING_NS 20e6
#define PROMISING_USES 10

bool
gj_is_worth_keeping(Cost feed, Cost other, Cost kept)
{
	Cost		gain = other - kept;

	return kept * PROMISING_FACTOR <= other && gain >= PROMISING_NS * GJ_NS_COST &&
		feed - other <= PROMISING_USES * gain;
}

bool
gj_is_promising(const GjTree *tree, Cost cost, double native_ns)
{
	return !gj_debug_force && tree->promise > 0 && cost >= native_ns * GJ_NS_COST &&
		gj_is_worth_keeping(cost, native_ns * GJ_NS_COST,
							Max(0, cost - with_margin(tree->promise)));
}

Cost
gj_fill_cost(const GjTree *tree)
{
	return with_margin(tree->feed_cost - tree->scan_cost);
}

Cost
gj_return_cost(double rows, double weight)
{
	return with_margin(rows * (gj_return_row_cost + weight * gj_return_column_cost) *
					   gj_machine.cpu);
}

/*
 * The smaller the expected result, the larger the factor by which it may
 * exceed the estimate, because the estimate multiplies selectivities as if
 * they were independent. The geometric mean of result and inputs allows a
 * factor of 32 for a result of a thousandth of the inputs, a factor of 3 for
 * one of a tenth, and none for one as large as the inputs.  A fixed fraction
 * of the inputs as a lower bound would penalize selective joins most.  It
 * would not correct medium-sized results at all, although the cost of the
 * return matters most there.
 */
double
gj_priced_rows(const GjTree *tree)
{
	if (!gj_corrects(GJ_MANY_RESULTS))
		return tree->rows;
	return Max(tree->rows, sqrt(tree->rows * tree->input_rows));
}
