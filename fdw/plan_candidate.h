/*
 * plan_candidate.h - what planning remembers between calls of the join hook.
 *
 * Every base relation keeps how it would be fed (GjBase), every joinrel the
 * best job tree found for it (GjStash), both in RelOptInfo.fdw_private, which
 * core leaves alone for relations that are not foreign.  A joinrel's tree is
 * kept even if add_path prunes its path, so that the joinrels above can take
 * it into a larger job; it is costed without returning its rows.
 *
 * All of it lives as long as the RelOptInfo that holds it.
 */
#ifndef GPUJOIN_PLAN_CANDIDATE_H
#define GPUJOIN_PLAN_CANDIDATE_H

#include "columns.h"
#include "plan_clauses.h"
#include "plan_reject.h"

/* The two ways in which a node can run. */
typedef enum GjVariant
{
	GJ_SERIAL,					/* one backend feeds and returns */
	GJ_PARALLEL,				/* so do all participants of a Gather */
	GJ_VARIANTS
} GjVariant;

/* How a base relation would be fed. */
typedef struct GjSource
{
	RelOptInfo *rel;
	GjFeed		feed;
	bool		partial;
	Path	   *path;			/* NULL: not possible in this variant */
	Cost		scan_cost;		/* what a native plan pays for the scan, too */
	Cost		cost;			/* of the scan and of filling columns */
} GjSource;

/* A job tree; a leaf is an input, everything else a join. */
typedef struct GjCandidate
{
	GjSource   *source;			/* leaf, else NULL */
	struct GjCandidate *left;	/* join, else NULL */
	struct GjCandidate *right;
	List	   *keys;			/* of GjKey */
	List	   *residual;		/* RestrictInfos of this join that are no keys */
	double		input_rows;		/* of all inputs together */
	double		rows;			/* that the daemon makes, residuals not applied */
	double		build_ns;		/* a row, if this is the build side of a join */
	double		probe_ns;		/* a row of the other side then */
	double		surplus;		/* rows over those that pass all residuals, >= 1 */
	double		bytes;			/* expected, of all inputs */
	Cost		scan_cost;		/* of all sources; part of feed_cost */
	Cost		feed_cost;
	Cost		join_cost;
	int			workers;		/* GJ_PARALLEL: largest of the partial inputs */
	int			ninputs;
	int			ncolumns;
	int			depth;
	int			nresiduals;		/* of the whole tree */
	bool		secured;		/* some input has security quals */
} GjCandidate;

/* A query level; hangs off its first base relation. */
typedef struct GjQuery
{
	double		rows;			/* of all tables, after their conditions */
	bool		no_rechecks;	/* rows are not locked and then looked at again */
	bool		shares;			/* some table would be scanned by several processes */
	bool		single_process; /* no plan of the query has workers */
	bool		asked_daemon;
	bool		daemon_alive;
	struct gj_status status;	/* while daemon_alive */
} GjQuery;

/* A base relation, RelOptInfo.fdw_private. */
typedef struct GjBase
{
	const void *tag;
	GjQuery    *query;			/* of the first base relation, else NULL */
	bool		decided;		/* the rest is filled */
	GjReject	reject;			/* GJ_ACCEPTED: may be an input */
	double		weight;			/* of all columns, see gj_column_weight */
	int			walk;			/* columns that a page feed passes over, a row */
	double	   *weights;		/* by attnum, of delivered columns */
	double		row_bytes;
	int			ncolumns;
	GjSource	sources[GJ_VARIANTS];
	GjCandidate leaves[GJ_VARIANTS];
} GjBase;

/* A joinrel, RelOptInfo.fdw_private. */
typedef struct GjStash
{
	const void *tag;
	GjQuery    *query;
	RelOptInfo *first_outer;	/* the pair of which one order was seen */
	RelOptInfo *first_inner;
	GjReject	reject;
	Cost		costs[GJ_VARIANTS]; /* of the best job with its result; < 0: none */
	double		return_weight;	/* of the joinrel's columns; < 0: not known yet */
	GjCandidate *candidates[GJ_VARIANTS];
	Path	   *native[GJ_VARIANTS];	/* cheapest seen, free of GpuJoins */
} GjStash;

/* NULL where there is none, or fdw_private is somebody else's. */
extern GjStash *gj_joinrel_stash(const RelOptInfo *joinrel);

/* The joinrel's, made if there is none; NULL where it is not ours to make. */
extern GjStash *gj_make_stash(PlannerInfo *root, RelOptInfo *joinrel);

/* The same for a base relation; decided where it is asked for first (plan_base.c). */
extern GjBase *gj_base(PlannerInfo *root, RelOptInfo *rel);

/* The query level; costs next to nothing after the first call (plan_query.c). */
extern GjQuery *gj_query(PlannerInfo *root);

/* Does the daemon live?  NULL: no, else its status.  Asked once per query. */
extern const struct gj_status *gj_query_daemon(GjQuery *query);

/* An empty GjBase, or the one that is there (plan_base.c). */
extern GjBase *gj_base_slot(RelOptInfo *rel);

/*
 * What the daemon's work for the join of two trees and for all joins below
 * costs.  selectivity is that of the conditions that are no keys; *rows
 * becomes what the join makes, which follows from joinrel->rows, those that
 * pass all of the joinrel's conditions.
 */
extern Cost gj_join_cost(const RelOptInfo *joinrel, const GjCandidate *left,
						 const GjCandidate *right, double selectivity,
						 const struct gj_status *status, double *rows);

/* The join of two trees. */
extern GjCandidate *gj_combine(const RelOptInfo *joinrel, GjCandidate *left,
							   GjCandidate *right, const GjClauses *clauses,
							   Cost join_cost, double rows);

/* RestrictInfos of the whole tree's joins that are no keys, in a safe order. */
extern List *gj_residuals(const GjCandidate *tree);

#endif							/* GPUJOIN_PLAN_CANDIDATE_H */
