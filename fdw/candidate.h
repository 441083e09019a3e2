/*
 * candidate.h - what planning remembers between calls of the join hook.
 *
 * Every base relation keeps how it would be fed (GjBase), every joinrel the
 * best job tree found for it (GjStash), both in RelOptInfo.fdw_private, which
 * core leaves alone for relations that are not foreign.  A joinrel's tree is
 * kept even if add_path prunes its path, so that the joinrels above can take
 * it into a larger job; it is costed without returning its rows.
 *
 * All of it lives as long as the RelOptInfo that holds it.
 */
#ifndef GPUJOIN_CANDIDATE_H
#define GPUJOIN_CANDIDATE_H

#include "clauses.h"
#include "columns.h"
#include "reject.h"

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
	double		rows;			/* that the daemon makes, residuals not applied */
	double		surplus;		/* rows over those that pass all residuals, >= 1 */
	double		bytes;			/* expected, of all inputs */
	Cost		feed_cost;
	Cost		join_cost;
	int			workers;		/* GJ_PARALLEL: largest of the partial inputs */
	int			ninputs;
	int			ncolumns;
	int			depth;
	bool		secured;		/* some input has security quals */
} GjCandidate;

/* A base relation, RelOptInfo.fdw_private. */
typedef struct GjBase
{
	const void *tag;
	GjReject	reject;			/* GJ_ACCEPTED: may be an input */
	bool		asked_daemon;
	bool		daemon_alive;
	struct gj_status status;	/* while daemon_alive */
	double		weight;			/* of all columns, see gj_column_weight */
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
	RelOptInfo *first_outer;	/* the pair of which one order was seen */
	RelOptInfo *first_inner;
	GjReject	reject;
	bool		offered;		/* add_path got a GpuJoin for the joinrel */
	double		return_weight;	/* of the joinrel's columns; < 0: not known yet */
	GjCandidate *candidates[GJ_VARIANTS];
	Path	   *native[GJ_VARIANTS];	/* cheapest seen, free of GpuJoins */
} GjStash;

/* NULL where fdw_private is somebody else's, or empty and not to be made. */
extern GjStash *gj_joinrel_stash(RelOptInfo *joinrel, bool create);

/* The same for a base relation; decides at the first call (base.c). */
extern GjBase *gj_base(PlannerInfo *root, RelOptInfo *rel);

/*
 * The join of two trees; rows of the result and of its memory are estimated
 * from joinrel->rows, which counts what passes all of the joinrel's conditions.
 */
extern GjCandidate *gj_combine(RelOptInfo *joinrel,
							   GjCandidate *left, GjCandidate *right,
							   const GjClauses *clauses,
							   const struct gj_status *status);

/* RestrictInfos of all joins of the tree that are no keys, in a safe order. */
extern List *gj_residuals(const GjCandidate *tree);

#endif							/* GPUJOIN_CANDIDATE_H */
