/*
 * plan/input/input.h - the inputs of a job.
 */
#ifndef PLAN_INPUT_INPUT_H
#define PLAN_INPUT_INPUT_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "job/job.h"
#include "plan/rejected/reasons.h"
#include "plan/state.h"

/* ---- the columns that the inputs of a job carry ---- */

/* The part of a GjPlan that is being made from a tree. */
typedef struct GjInputs
{
	PlannerInfo *root;
	GjPlan	   *plan;
	List	   *children;		/* Plans of the inputs */
	List	   *parameters;		/* expressions of plan->parameters, in order */
} GjInputs;

/*
 * Returns the column that carries var in this form, and adds it if necessary.
 * is_key: its bytes are compared, so that equal values need equal bytes.
 */
extern GjOutput gj_need_column(GjInputs *inputs, const Var *var, GjForm form,
							   bool is_key);

/* Describes the column that carries var in this form, but for where it comes from. */
extern void gj_describe_column(GjInputs *inputs, const Var *var, GjForm form, GjColumn *column);

/* The column that returns var's value. */
extern GjOutput gj_place_var(GjInputs *inputs, const Var *var);

/*
 * The column of a table that is cheapest to feed where only the number of rows
 * matters; NULL if none can be fed.
 */
extern const Var *gj_cheapest_column(const RangeTblEntry *rte, Index rti);

/*
 * Gives that column to inputs without any: an input of a job has columns.
 * Their children are sequential scans, or they are mirrors.
 */
extern void gj_need_some_column(GjInputs *inputs);

/*
 * Decides which inputs the daemon may keep, and adds what it needs for that.  To
 * be called when all columns that are fed are known.
 */
extern void gj_add_kept_forms(GjInputs *inputs);

/*
 * The share of a table's blocks, 0 to 1, that the daemon would keep once the columns that
 * the query reads have been used again.  The daemon may serve the relation, which is that of
 * rel.
 */
extern double gj_promised_kept(PlannerInfo *root, RelOptInfo *rel, Relation relation);

/* The form in which a value of the column is returned. */
extern GjForm gj_payload_form(const Var *var);

/*
 * Position of a column, which is a Var or computed, in a target list, from 1.
 * 0 if it is not there.
 */
extern int	gj_find_column(const List *tlist, const Expr *column);

/* The last column of the relation that one of the expressions reads.  0: none. */
extern int	gj_last_column(const List *exprs, Index relid);

/* A target list with copies of these expressions, for custom_scan_tlist. */
extern List *gj_scan_tlist(const List *exprs);

/* ---- which relations may be inputs of a job ---- */

/*
 * Checks a base relation's kind, paths and conditions, but not its columns.
 */
extern GjReject gj_check_relation(PlannerInfo *root, RelOptInfo *rel);

/* ---- feeds of heap pages: plan/input/pages.c ---- */

/* Finds out whether the relation can be fed from heap pages, and what a feed reads. */
extern void gj_find_pages(PlannerInfo *root, RelOptInfo *rel, GjBaserel *base);

/*
 * Makes a page feed the relation's source, if that costs less than the source so far.
 * child is a path of the relation, or NULL.
 */
extern void gj_offer_pages(PlannerInfo *root, RelOptInfo *rel, const GjBaserel *base,
						   Path *child, int workers, GjSource *source);

/* ---- tables of other servers: plan/input/mirror.c ---- */

/*
 * Makes a foreign table's mirror its source, if the daemon can evaluate all of its
 * conditions and has all columns that are read.  *size: of these conditions.
 */
extern void gj_offer_mirror(PlannerInfo *root, RelOptInfo *rel, const GjBaserel *base,
							GjSource *source, GjTreeSize *size);

/*
 * Completes the inputs that are mirrors with what the daemon needs for their
 * conditions.  An input of which that is not possible becomes one that its child
 * feeds.  To be called when all columns that are read are known.
 */
extern void gj_add_mirrors(GjInputs *inputs);

/* Does a path of it contain a foreign or custom scan that is not ours? */
extern bool gj_has_foreign_path(const RelOptInfo *rel);

/* ---- the plans of CTEs ---- */

/*
 * Returns the path of the CTE that an entry of a range table reads, or NULL if
 * it is not known, and stores the query level that it is of in *level.
 */
extern const Path *gj_cte_path(PlannerInfo *root, const RangeTblEntry *rte, PlannerInfo **level);

/* ---- subqueries of which two plans are made ---- */

/* Can a plan of the query level be made twice? */
extern bool gj_planned_twice_safely(PlannerInfo *subroot);

/*
 * To be called when plans are made of a relation that has passed the check: it
 * is planned twice, as an input and in the native plan.
 */
extern void gj_planned_twice(PlannerInfo *root, RelOptInfo *rel);

/* ---- query levels that run again for each row of an outer query ---- */

/*
 * Does a query level read values of a row outside of it, itself or in one of
 * its subqueries?  Its scans and joins must have been planned.
 */
extern bool gj_is_correlated(PlannerInfo *root);

/* ---- columns that the plan of an input computes ---- */

/*
 * Returns the column that carries a Var or PlaceHolderVar.  NULL: no single
 * input does.
 */
extern Var *gj_column(PlannerInfo *root, Expr *expr);

/*
 * The same for an expression that is compared as a key: also a call of one of
 * a few functions, which the plan of its argument's input can compute.
 */
extern Var *gj_key_expression(PlannerInfo *root, Expr *expr);

/*
 * The same for an expression that the daemon cannot evaluate: calls of functions
 * that raise no error, over columns of one input and constants.  NULL: it has
 * others.
 */
extern Var *gj_total_expression(PlannerInfo *root, Expr *expr);

/* Returns the expression that var stands for.  NULL: var is a real column. */
extern Expr *gj_computed(PlannerInfo *root, const Var *var);

/*
 * Returns the column of rel for this expression, which reads only columns of
 * rel, and adds it if necessary.  base is that of rel.
 */
extern Var *gj_compute(RelOptInfo *rel, GjBaserel *base, Expr *expr);

/* The planner's estimate of bytes per value. */
extern int	gj_average_width(PlannerInfo *root, const Var *var);

/* The expression without PlaceHolderVars, as EXPLAIN can show it. */
extern Expr *gj_without_placeholders(Expr *expr);

#endif							/* PLAN_INPUT_INPUT_H */
