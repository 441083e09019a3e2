/*
 * plan_closure.h - which columns of a job tree can filter which.
 */
#ifndef GPUJOIN_PLAN_CLOSURE_H
#define GPUJOIN_PLAN_CLOSURE_H

#include "plan_candidate.h"

/* Bounds of what is considered: larger trees have fewer filters. */
#define GJ_CLOSURE_COLUMNS 64
#define GJ_CLOSURE_PAIRS 64
#define GJ_CLOSURE_EDGES 256

/* A key column that the daemon compares as an integer. */
typedef struct GjKeyColumn
{
	const Var  *var;
	GjForm		form;			/* in which it is fed */
} GjKeyColumn;

/* A key of a join, as positions of columns. */
typedef struct GjKeyPair
{
	const GjCandidate *join;
	int			left;
	int			right;
} GjKeyPair;

/*
 * A row of target's input may be dropped if target is NULL there, or equals no
 * value of source.
 */
typedef struct GjEdge
{
	int			source;
	int			target;
} GjEdge;

typedef struct GjClosure
{
	int			ncolumns;
	GjKeyColumn columns[GJ_CLOSURE_COLUMNS];
	int			npairs;
	GjKeyPair	pairs[GJ_CLOSURE_PAIRS];
	int			nedges;
	GjEdge		edges[GJ_CLOSURE_EDGES];
} GjClosure;

/* Fills in an empty closure for the tree. */
extern void gj_find_edges(const GjCandidate *tree, GjClosure *closure);

#endif							/* GPUJOIN_PLAN_CLOSURE_H */
