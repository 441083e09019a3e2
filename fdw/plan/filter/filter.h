/*
 * plan/filter/filter.h - key filters: which are legal, and which are chosen.
 */
#ifndef PLAN_FILTER_FILTER_H
#define PLAN_FILTER_FILTER_H

#include "postgres.h"

#include "plan/input/input.h"
#include "plan/state.h"

/* ---- which columns of a job tree can filter which ---- */

/* Bounds of what is considered: larger trees have fewer filters. */
#define GJ_LEGAL_COLUMNS 64
#define GJ_LEGAL_PAIRS 64

/* Columns of legal filters, one bit each. */
typedef uint64 GjColumnSet;

#define GJ_COLUMN_BIT(column) (UINT64CONST(1) << (column))

/* A key column. */
typedef struct GjKeyColumn
{
	const Var  *var;
	GjForm		form;			/* in which it is fed */

	/*
	 * A row of the column's input may be dropped if the column is NULL there, or
	 * equals no value of one of these.
	 */
	GjColumnSet sources;
} GjKeyColumn;

/*
 * A key of a join, as positions of columns.  The pairs of the joins below its
 * left side, then of those below its right side precede the pairs of the join.
 */
typedef struct GjKeyPair
{
	const GjTree *join;
	int			left;
	int			right;
	int			left_begin;
	int			right_begin;
	int			join_begin;
} GjKeyPair;

typedef struct GjLegalFilters
{
	int			ncolumns;
	GjKeyColumn columns[GJ_LEGAL_COLUMNS];
	int			npairs;
	GjKeyPair	pairs[GJ_LEGAL_PAIRS];
} GjLegalFilters;

/* Fills in the legal filters of a tree, which are empty before. */
extern void gj_find_sources(const GjTree *tree, GjLegalFilters *legal);

/* ---- which filters are chosen ---- */

/*
 * Chooses the tree's filters, and computes what they save.  Does nothing if
 * that was done before.
 */
extern void gj_choose_filters(PlannerInfo *root, GjTree *tree);

/*
 * Adds the tree's filters and the order of feeding to the plan.  Its joins have
 * been added before.
 */
extern void gj_add_filters(GjInputs *inputs, GjTree *tree);

#endif							/* PLAN_FILTER_FILTER_H */
