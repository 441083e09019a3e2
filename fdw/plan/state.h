/*
 * plan/state.h - planning state kept between calls of the join hook.
 *
 * Every base relation remembers how it would be fed (GjBaserel), and every
 * joinrel the best job tree found for it (GjJoinrel).  A joinrel's tree is kept
 * even if add_path prunes its path, so that higher joinrels can include it in a
 * larger job.  The tree's cost excludes the return of its rows.
 */
#ifndef PLAN_STATE_H
#define PLAN_STATE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "compat.h"
#include "daemon/status.h"
#include "job/job.h"
#include "plan/join/clauses.h"
#include "plan/rejected/reasons.h"

/* ---- errors of ours that are noticed while a plan is made ---- */

/*
 * The planner has contradicted itself: keeps the reason in *defect, unless there
 * is one already, and returns.  The caller goes on with any value, because the
 * node then runs its native plan and nothing else is read of its GjPlan.  A
 * server with assertions raises an error instead.
 */
extern void gj_note_defect(const char **defect, const char *format,...)
			pg_attribute_printf(2, 3);

/* ---- what the planner's hooks remember about a relation ---- */

/*
 * The state is found by the relation's address.  RelOptInfo.fdw_private would be
 * nearer, but it belongs to foreign data wrappers, and some libraries use it for
 * relations that are not foreign, too.
 */

/* NULL if there is none. */
extern void *gj_find_state(const RelOptInfo *rel);

/*
 * Is it a foreign table of gpujoin_fdw, or made of such tables of one server?
 */
extern bool gj_is_mirrored(const RelOptInfo *rel);

/*
 * Returns the relation's state, and creates it if necessary: size zero bytes in
 * the memory context of the relation, with which the state ends.  NULL for a
 * relation of another foreign data wrapper, and for one that another library marks
 * as its own by fdw_private.
 */
extern void *gj_get_state(RelOptInfo *rel, Size size);

/* ---- state ---- */

/* The two variants of the node. */
typedef enum GjVariant
{
	GJ_SERIAL,					/* one backend feeds and returns rows */
	GJ_PARALLEL,				/* all participants of a Gather do */
	GJ_VARIANTS
} GjVariant;

/* What a feed of heap pages reads, of one table or of several. */
typedef struct GjAmount
{
	int			scans;			/* of tables */
	double		pages;
	double		tuples;
	double		walked;			/* attributes that are skipped, of all tuples */
	double		rows;			/* that pass the conditions */
} GjAmount;

/* How a base relation would be fed. */
typedef struct GjSource
{
	RelOptInfo *rel;
	GjFeed		feed;
	bool		partial;
	Path	   *path;			/* NULL: impossible in this variant */
	double		tuples;			/* of the pages of a page feed, kept ones too; of a
								 * mirror */
	Cost		scan_cost;		/* of the scan, which a native plan pays too */
	Cost		cost;			/* of the scan and of filling columns */
	double		fed;			/* share of its pages that are fed: the daemon is
								 * expected to have the others.  0: a mirror */
	Cost		kept_saving;	/* what it would cost more if it were fed as a whole */
	double		promised_fed;	/* fed, if the daemon had what it can keep */
	Cost		promise;		/* what it would then cost less */
	int			disabled;		/* nodes that settings switch off, since 18 */
} GjSource;

/* A filter of a job tree; a GjFilter without positions. */
typedef struct GjChosenFilter
{
	const Var  *source;
	const Var  *target;
	GjForm		source_form;
	GjForm		target_form;
	double		passing;		/* fraction of the target's rows */
} GjChosenFilter;

/* The filters of a job tree.  Inputs are in the order of its leaves. */
typedef struct GjKeyFilters
{
	List	   *filters;		/* of GjChosenFilter */
	int		   *order;			/* in which the inputs are chosen to be fed */
	double	   *passing;		/* fraction of an input's rows, by all filters */
	Cost		saved;			/* part of the tree's feed_cost */
} GjKeyFilters;

/* The size of a tree's document (plan/expr/write.c). */
typedef struct GjTreeSize
{
	int			levels;
	int			bytes;			/* of all conditions */
	int			parameters;		/* the same, at most */
} GjTreeSize;

/*
 * A job tree.  A leaf is an input; every other node is a join.  A semi or anti
 * join hides the columns of its right side.
 */
typedef struct GjTree
{
	GjSource   *source;			/* leaf, else NULL */
	JoinType	kind;			/* join: inner, left, full, semi or anti */
	struct GjTree *left;		/* join, else NULL */
	struct GjTree *right;
	Relids		relids;			/* of the relation that the tree delivers */
	Relids		hidden;			/* those of them that are hidden */
	List	   *keys;			/* of GjKey */
	List	   *residual;		/* the others of GjClauses */
	List	   *filter;
	List	   *deferred;
	List	   *shipped;
	GjTreeSize	size;			/* without deferred conditions */
	GjTreeSize	whole_size;		/* with them */
	bool		ships_deferred; /* those of the whole tree */
	bool		block_only;		/* the daemon must evaluate conditions that a
								 * OffloadJoin cannot have: that may be errors, or
								 * that are deferred */
	double		input_rows;		/* sum over all inputs */
	double		rows_read;		/* by native scans of all inputs */
	double		rows;			/* of the daemon's result: with the rows that
								 * deferred conditions will drop */
	double		build_ns;		/* per row, as the build side of a join */
	double		probe_ns;		/* then per row of the other side */
	double		growth;		/* rows / core's estimate of the result, >= 1:
								 * deferred conditions are applied later */
	double		key_growth;	/* part of growth: plan/cost/rows.c */
	double		bytes;			/* expected, of all inputs */
	Cost		scan_cost;		/* of all sources; part of feed_cost */
	Cost		feed_cost;
	Cost		kept_saving;	/* of all sources */
	Cost		promise;		/* the same */
	Cost		join_cost;
	GjKeyFilters *key_filters;	/* NULL: not chosen */
	int			disabled;		/* of all sources */
	int			workers;		/* GJ_PARALLEL: largest of the partial inputs */
	int			ninputs;
	int			ncolumns;
	int			ndeferred;		/* of the whole tree */
	bool		mirrored;		/* some input is a mirror */
	bool		secured;		/* some input has security quals */
} GjTree;

/* A query level, attached to its first base relation. */
typedef struct GjQuery
{
	double		rows;			/* of all tables, after their restrictions */
	bool		no_rechecks;	/* no rows are locked and then rechecked */
	bool		shares;			/* some table would use a parallel scan */
	bool		single_process; /* no plan of the query has workers */
	bool		mirrored;		/* some table is one of gpujoin_fdw */
	bool		asked_daemon;
	GjDaemon	daemon;
	struct gj_status status;	/* valid if the daemon is ready */
} GjQuery;

/* How long a path is expected to run (plan/cost/native.c). */
typedef struct GjTime
{
	double		ns;				/* of each of its processes */
	double		growth;		/* rows / core's estimate of them, >= 1 */

	/*
	 * Our own paths at or below it deduct these from the plan that has their
	 * native paths instead.
	 */
	double		saved_ns;
	Cost		saved_cost;

	/* what nodes cost less than their time is charged at least, of all nodes */
	Cost		lacking;
} GjTime;

/* The one that was asked for last. */
typedef struct GjKnownTime
{
	const Path *path;			/* NULL: nothing is known */
	Cost		cost;			/* of it: addresses are used again */
	GjTime		time;
} GjKnownTime;

typedef struct GjOrder GjOrder;	/* plan/cost/rows_range.c */
typedef struct GjScan GjScan;	/* plan/block/hook.c */

/*
 * A base relation.  The trees come first as in GjJoinrel, so that the many splits of
 * joinrels find those of both in the same way.
 */
typedef struct GjBaserel
{
	GjTree	   *trees[GJ_VARIANTS]; /* leaves, if it is decided that it may be an input */
	GjQuery    *query;			/* of the first base relation, else NULL */
	GjScan	   *scan;			/* of the only table of a block, else NULL */
	bool		decided;		/* the fields below are valid */
	GjReject	reject;			/* GJ_ACCEPTED: may be an input */
	double		weight;			/* of all columns, see gj_column_weight */
	bool		paged;			/* a page feed is possible: */
	GjAmount	whole;			/* what it reads if the daemon has nothing */
	GjAmount	fed;			/* what it is expected to read */
	GjAmount	promised;		/* what it would read if the daemon had what it can keep */
	List	   *tables;			/* RelOptInfos of the leaves that it reads; NIL: it reads
								 * the relation itself */
	double	   *weights;		/* by attnum, of delivered columns */
	List	   *computed;		/* expressions, see plan/input/computed.c */
	double		row_bytes;
	int			ncolumns;
	double		row_ns;			/* plan/cost/native_scan.c: of a native scan; 0:
								 * unknown */
	double		passed_ns;		/* per row that passes its conditions */
	Bitmapset  *looked_up;		/* attnums, of which those in in_order say in
								 * which order the table is stored */
	Bitmapset  *in_order;
	GjOrder    *order;		/* plan/cost/rows_range.c; NULL: unknown */
	struct GjValues *values;	/* plan/cost/rows.c, of examined columns */
	struct GjUnscaled *unscaled; /* plan/expr/unscaled_numeric.c, of examined columns */
	double		growth;		/* of a subquery's rows; 0: unknown */
	GjKnownTime times[GJ_VARIANTS];
	GjSource	sources[GJ_VARIANTS];
	GjTree		leaves[GJ_VARIANTS];
} GjBaserel;

/* A joinrel. */
typedef struct GjJoinrel
{
	GjTree	   *trees[GJ_VARIANTS];
	GjQuery    *query;
	RelOptInfo *first_outer;	/* the pair seen in one order so far */
	RelOptInfo *first_inner;
	GjReject	reject;
	GjPrice		prices[GJ_VARIANTS];	/* with the result's return; cost < 0: none */
	double		return_weight;	/* of the joinrel's columns; < 0: unknown */
	Path	   *native[GJ_VARIANTS];	/* cheapest seen, without OffloadJoins */
	GjTime		native_times[GJ_VARIANTS];	/* of the paths that native are copies of */
	GjKnownTime times[GJ_VARIANTS];
} GjJoinrel;

/* NULL if there is none. */
static inline GjJoinrel *
gj_joinrel_state(const RelOptInfo *joinrel)
{
	return joinrel->reloptkind == RELOPT_JOINREL ? gj_find_state(joinrel) : NULL;
}

/*
 * The trees that deliver a base relation or a joinrel.  NULL: nothing is known of it.
 */
static inline GjTree *const *
gj_known_trees(const RelOptInfo *rel)
{
	StaticAssertStmt(offsetof(GjBaserel, trees) == 0 && offsetof(GjJoinrel, trees) == 0,
					 "the trees must come first");
	return gj_find_state(rel);
}

/*
 * Returns the joinrel's state and creates it if necessary.  NULL as for
 * gj_get_state().
 */
extern GjJoinrel *gj_make_joinrel_state(RelOptInfo *joinrel, GjQuery *query);

/*
 * The same for a base relation, which is decided on first use (plan/input/table.c).
 */
extern GjBaserel *gj_base(PlannerInfo *root, RelOptInfo *rel);

/* Returns the query level.  Cheap after the first call (plan/state.c). */
extern GjQuery *gj_query(PlannerInfo *root);

/* gj_query_daemon() of the first call (plan/state.c). */
extern const struct gj_status *gj_ask_daemon(GjQuery *query);

/*
 * Returns the daemon's status, or NULL if it is not alive.  Checked once per
 * query.
 */
static inline const struct gj_status *
gj_query_daemon(GjQuery *query)
{
	return query->asked_daemon && query->daemon == GJ_DAEMON_READY ? &query->status : gj_ask_daemon(query);
}

/*
 * Returns what is known about a base relation, perhaps nothing yet.  NULL if it
 * is none, or as for gj_get_state().
 */
static inline GjBaserel *
gj_base_slot(RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_BASEREL ? gj_get_state(rel, sizeof(GjBaserel)) : NULL;
}

/* A join of two trees that is considered, and the trees. */
typedef struct GjJoining
{
	PlannerInfo *root;
	RelOptInfo *joinrel;
	JoinType	kind;
	GjTree	   *left;
	GjTree	   *right;
} GjJoining;

/*
 * Returns the daemon's cost of the join of two trees, including all joins
 * below it.  *rows is set to the size of the join's result.  It is derived from
 * joinrel->rows, the number of rows that pass all of the joinrel's conditions.
 */
extern Cost gj_join_cost(const GjJoining *joining, const GjClauses *clauses,
						 const struct gj_status *status, double *rows);

/*
 * The least that it can be, for joinrel->rows: conditions other than keys can only
 * add to it.
 */
extern Cost gj_join_bound(const RelOptInfo *joinrel, const GjTree *left, const GjTree *right,
						  const struct gj_status *status);

/* The join of two trees. */
extern GjTree *gj_combine(const GjJoining *joining, const GjClauses *clauses,
							   bool block_only, Cost join_cost, double rows);

/* The children of a node: the paths of the tree's inputs, then the native one, if any. */
extern List *gj_children(const GjTree *tree, Path *native);

/* Deferred conditions of all joins of the tree, in a safe order. */
extern List *gj_deferred(const GjTree *tree);

/*
 * Returns a column of the tree's rows that is equal to var by operators of
 * this kind, or NULL.  It is var itself unless a join of the tree hides it.
 */
extern Var *gj_equal_column(const GjTree *tree, Var *var, GjKeyKind kind);

/* The same for a column whose values have the same bytes as those of var. */
extern Var *gj_same_column(const GjTree *tree, Var *var);

/* ---- hooks and methods ---- */
extern void gj_install_join_hook(void); /* plan/join/hook.c */
extern void gj_install_block_hooks(void);	/* plan/block/hook.c */
extern void gj_install_notices(void);	/* plan/rejected/notices.c */
extern void gj_install_rewrites(void);	/* plan/rewrite/hook.c */
extern const CustomPathMethods gj_path_methods; /* plan/join/plan.c */
extern const CustomPathMethods gj_block_path_methods;	/* plan/block/plan.c */
extern const CustomPathMethods gj_feed_path_methods;	/* the same */

#endif							/* PLAN_STATE_H */
