/*
 * plan/cost/cost.h - costs and times of offloaded and native plans, and the factors
 * that make the two comparable.
 */
#ifndef PLAN_COST_COST_H
#define PLAN_COST_COST_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "utils/relcache.h"

#include "plan/state.h"

/* ---- rows of joins that core underestimates ---- */

/*
 * The factor by which a join's result is expected to exceed core's estimate,
 * given the RestrictInfos by which the two sides are joined.
 */
extern double gj_key_growth(PlannerInfo *root, const List *clauses);

/* The same because of joins by several columns, and by columns without statistics. */
extern double gj_columns_growth(PlannerInfo *root, const List *clauses);

/* The column that an operand of a clause is, or NULL. */
extern const Var *gj_compared_column(Node *node);

/* The selectivity of a join clause as one of an inner join. */
extern double gj_clause_selectivity(PlannerInfo *root, RestrictInfo *rinfo);

/*
 * The expected rows of a join, given core's estimate and the factor by which
 * they exceed it.  core's estimate is never less than one row, so that the
 * factor would be applied to a rounded number.  Then the rows of both sides
 * limit the result, of which pairs pass the clauses.
 */
extern double gj_growth_rows(PlannerInfo *root, double rows, double growth,
							  double pairs, const List *clauses);

/*
 * The expected number of groups of the given rows by at least one key, if core
 * expects groups for core_rows rows.
 */
extern double gj_grown_groups(double groups, double core_rows, double rows);

/* ---- rows of subqueries and CTEs that core underestimates ---- */

/*
 * The factor, at least 1, by which the rows of a base relation are expected to
 * exceed core's estimate.
 */
extern double gj_rel_growth(PlannerInfo *root, RelOptInfo *rel);

/* ---- rows that scans read ---- */

/*
 * Does a relation deliver columns of which no statistics exist?  Those of a
 * CTE or of groups have none.
 */
extern bool gj_lacks_statistics(PlannerInfo *root, const RelOptInfo *rel);

/*
 * The factor, at least 1, by which the rows that pass a relation's conditions
 * are expected to exceed core's estimate.
 */
extern double gj_scan_growth(PlannerInfo *root, const RelOptInfo *rel);

/* The rows of a relation that are read, whether they pass its conditions or not. */
extern double gj_rows_read(PlannerInfo *root, const RelOptInfo *rel);

/* ---- ranges of tables that are stored in order ---- */

/*
 * The factor, at least 1, by which the rows that pass a = b are expected to
 * exceed core's estimate, because conditions of the tables of a and b select
 * those values that the other table has.
 */
extern double gj_range_growth(PlannerInfo *root, const Var *a, const Var *b);

/* ---- how many different values the columns of inputs have ---- */

/* What is known about a column's values. */
typedef struct GjValues
{
	AttrNumber	attnum;
	bool		known;			/* is distinct more than a guess? */
	double		distinct;		/* in the whole table */
	double		null_fraction;
	struct GjValues *next;		/* of the same relation */
} GjValues;

/* Returns what the statistics say of a column, which is examined once a query. */
extern const GjValues *gj_values(PlannerInfo *root, const Var *var);

/* ---- how many processes share the work of a parallel path ---- */

/*
 * The number of processes that share the rows of a path, as core counts them.
 */
extern double gj_divisor(int workers);

/*
 * Sets what the daemon knows of the machine: how fast its cores and caches are, and the
 * number of processors.  A control group may give fewer of them than the machine has, and
 * reading that takes too long to plan.  The daemon's own setting does not count, because
 * it does not limit backends.
 */
extern void gj_set_machine(const struct gj_status *status);

/* The number of processors that they can use at a time. */
extern double gj_speedup(int workers);

/*
 * The number of workers beyond which a page feed gains nothing, because each
 * process keeps a processor busy.
 */
extern int	gj_most_workers(void);

/* ---- costs of an offloaded join's steps, in the planner's unit ---- */

/*
 * Reading pages of a relation and evaluating its conditions on them, as native scans
 * would too.  Participants share the processor time, but not the reading.
 */
extern Cost gj_page_scan_cost(PlannerInfo *root, RelOptInfo *rel, const GjAmount *read,
							  int workers);

/* Taking columns of this weight from pages. */
extern Cost gj_page_fill_cost(const GjAmount *read, double weight, int workers);

/*
 * Could the daemon serve the relation, or leaves of it, if it keeps them?  It keeps
 * something, and each condition has a form that it evaluates.
 */
extern bool gj_may_be_served(PlannerInfo *root, const RelOptInfo *rel);

/*
 * The share of a table's blocks that the daemon keeps, 0 to 1: of all columns that the
 * query reads.  relation is that of rel.
 */
extern double gj_expected_kept(PlannerInfo *root, RelOptInfo *rel, Relation relation);

/*
 * ns that a core of the daemon takes to evaluate the conditions, RestrictInfos, on a row of
 * a table that it keeps.  It tests the cheap ones first.
 */
extern double gj_kept_conditions_ns(const struct gj_status *status, const List *conditions);

/* Evaluating the relation's conditions in the daemon, on this number of its tuples. */
extern Cost gj_kept_cost(const struct gj_status *status, const RelOptInfo *rel, double tuples);

/* Taking columns of this weight from a child plan's rows. */
extern Cost gj_child_fill_cost(const Path *child, double weight);

/*
 * Nanoseconds of testing a key that is fed in this form, of a type of this
 * length and values of this average width.
 */
extern double gj_filter_ns(GjForm form, int length, int width);

/*
 * Does a filter save more than its tests of ns nanoseconds cost, in the feed of
 * an input whose columns have this weight and in the daemon?
 */
extern bool gj_filter_pays(const GjSource *source, double weight, double ns,
						   double passing);

/*
 * What filters save in the feed of an input, whose columns have this weight, if
 * testing a row takes ns and the given fraction of its rows passes.
 */
extern Cost gj_filter_saving(const GjSource *source, double weight, double ns,
							 double passing, int workers);

/* Sets the daemon's rates for joins whose build side is this tree. */
extern void gj_rate(const struct gj_status *status, GjTree *tree);

/*
 * The daemon's work for one join.  Both sides have rates; columns is the
 * number of columns of the result.
 */
extern Cost gj_daemon_cost(const struct gj_status *status, const GjTree *left,
						   const GjTree *right, double rows, int columns);

/*
 * The daemon's evaluation of that many conditions on each of these rows, or
 * pairs of rows.
 */
extern Cost gj_condition_cost(const struct gj_status *status, double rows, int conditions);

/*
 * Total cost before the first row: opening the job, feeding and joining.  The
 * margin applies to everything but the scans.
 */
extern Cost gj_job_cost(const GjTree *tree);

/*
 * The same of a job that only scans a mirror with its conditions.  status NULL: unknown.
 */
extern Cost gj_scan_job_cost(const struct gj_status *status, const RelOptInfo *rel);

/*
 * Would a path with the tree cost as much as the native one, or more, if the daemon had
 * nothing of its inputs?  Both costs are in core's unit.
 */
extern bool gj_relies_on_kept(const GjTree *tree, Cost cost, Cost native_cost);

/*
 * Is it worth feeding all rows once, so that the daemon keeps them?  The costs are those of
 * the feed, of another way that needs no daemon, and of what is kept, in the unit of
 * GJ_NS_COST.
 */
extern bool gj_is_worth_keeping(Cost feed, Cost other, Cost kept);

/*
 * Would a path with the tree take far less time than the native plan, if the daemon had what
 * it can keep of its inputs?  cost is that with what it has now.
 */
extern bool gj_is_promising(const GjTree *tree, Cost cost, double native_ns);

/* The part of it that is copying columns into batches. */
extern Cost gj_fill_cost(const GjTree *tree);

/*
 * Returning rows with columns of this weight to one process, with the margin.
 */
extern Cost gj_return_cost(double rows, double weight);

/* The number of rows for which the return of the tree's result is charged. */
extern double gj_priced_rows(const GjTree *tree);

/*
 * The cost of the daemon's aggregation of the rows into groups by keys.  leaves are all
 * expressions that it delivers: keys, columns and Aggrefs.
 */
extern Cost gj_aggregation_cost(const struct gj_status *status, double rows, double groups,
								const List *keys, const List *leaves);

/* ---- how long native paths are expected to run ---- */

/*
 * Returns the expected time of a path, in ns, and stores in *time that of each
 * of its processes.  A path of which every process of a Gather runs a part
 * counts as if the Gather stood above it.
 */
extern double gj_path_ns(PlannerInfo *root, const Path *path, GjTime *time);

/* ---- parts of native nodes ---- */

/* ns, measured on a core of about 3 GHz */
#define GJ_ROW_HEADER 48		/* bytes that a row of a hash table has more */

/* The expected rows of a path with this time. */
static inline double
gj_rows_of(const Path *path, GjTime e)
{
	return path->rows * e.growth;
}

/* ns to sort the rows (plan/cost/native.c). */
extern double gj_sort_ns(double rows, const List *pathkeys);

/* The same by a first key of this type, or of InvalidOid: any fast one. */
extern double gj_sort_type_ns(double rows, Oid type);

/* What is scanned again if Memoize above the inner side of a nested loop does not know its rows. */
static inline const Path *
gj_rescanned(const Path *inner)
{
	while (IsA(inner, MemoizePath))
		inner = ((const MemoizePath *) inner)->subpath;
	return inner;
}

/*
 * The times of joins, given those of their sides (plan/cost/native_join.c).  inner is
 * that of one scan of gj_rescanned, and not used if that is an index scan.
 */
extern GjTime gj_nestloop_time(PlannerInfo *root, const JoinPath *join, GjTime outer, GjTime inner);
extern GjTime gj_hash_join_time(PlannerInfo *root, const HashPath *path, GjTime outer, GjTime inner);
extern GjTime gj_merge_join_time(PlannerInfo *root, const MergePath *path, GjTime outer, GjTime inner);

/* ---- how long native scans of tables take ---- */

/* ns to scan a table sequentially, in one of the path's processes. */
extern double gj_seqscan_ns(PlannerInfo *root, const Path *path);

/*
 * ns of one scan of an index.  ordered: each finds rows next to those that the
 * scan before found.
 */
extern double gj_indexscan_ns(PlannerInfo *root, const IndexPath *path, bool ordered);

/* ns of one scan of an index that finds no row, and is in no order. */
extern double gj_empty_indexscan_ns(const IndexPath *path);

/* ns of one scan of heap pages by a bitmap, without that of its indexes. */
extern double gj_bitmapscan_ns(PlannerInfo *root, const BitmapHeapPath *path);

/*
 * Does each scan of the inner index, as the outer path requests them, find rows
 * next to those that the scan before found?
 */
extern bool gj_probes_in_order(PlannerInfo *root, const Path *outer, const IndexPath *inner);

/* The fraction of the query's pages that are not expected in memory. */
extern double gj_missing_pages(const PlannerInfo *root);

/*
 * How far random accesses to a region of this many bytes miss the processor's
 * caches, 0 to 1.
 */
extern double gj_cache_misses(double bytes);

/* ---- scans of an index with a key of another table's row ---- */

/*
 * The expected time of a probe, given that of a scan that finds the rows of an
 * average key of the inner table.  inner is the inner path of a nested loop.
 */
extern double gj_probe_ns(PlannerInfo *root, const Path *inner, double found_ns);

/* The fraction of probes that find the rows of an average key, 0 to 1. */
extern double gj_probes_found(PlannerInfo *root, const Path *inner);

/* ---- how long the executor takes for expressions ---- */

/* ns to evaluate an expression or a list of them, without their Aggrefs. */
extern double gj_expression_ns(Node *node);

/*
 * ns to evaluate the conditions, RestrictInfos, on one row.  A condition is
 * evaluated on the rows that pass those before it.
 */
extern double gj_conditions_ns(const List *conditions);

/*
 * The same on the pages of a page feed.  *by_row is that part of it in which
 * PostgreSQL's expressions are evaluated row by row.
 */
extern double gj_page_conditions_ns(const List *conditions, double *by_row);

/* ns per row that is aggregated by the Aggrefs of these expressions. */
extern double gj_transitions_ns(const List *exprs);

/* ---- makes costs of offloaded plans comparable with native ones ---- */

/* The native path that a path of ours is to replace, and is compared with. */
typedef struct GjRival
{
	const Path *path;
	bool		topmost;		/* paths of ours are not below other joins */
	double		ns;				/* 0 if gpujoin.estimate_native is off */
	GjTime		processes;		/* of each of its processes */
	double		unit;			/* by which the costs of paths of ours are multiplied:
								 * then both are in the ratio of the expected times */
} GjRival;

extern GjRival gj_rival(PlannerInfo *root, const Path *native, bool topmost);

/*
 * The unit for a path of ours with this cost, not yet multiplied by it: that of the
 * rival, or a larger one if ours is expected to take longer.
 */
extern double gj_unit(const GjRival *rival, Cost cost);

/* The time of a path of ours with this cost, not yet multiplied, and growth of rows. */
extern GjTime gj_own_time(const GjRival *rival, Cost cost, double unit, double growth);

/* In forced mode: keeps the order of two of our costs. */
#define GJ_FORCED_COST_FACTOR 1e-9

/* The cost of the rows of a child plan, not yet multiplied by a unit. */
extern Cost gj_child_scan_cost(PlannerInfo *root, const Path *child);

#endif							/* PLAN_COST_COST_H */
