/*
 * options.h - the settings gpujoin.*.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "postgres.h"

extern bool gj_enabled;
extern bool gj_debug_force;			/* tests: offload whenever possible */
extern bool gj_enable_aggregates;			/* offload aggregations with their joins */
extern bool gj_float_aggregates;	/* offload sums and averages of floats */
extern bool gj_estimate_native; /* compare times, not core's costs */
extern bool gj_enable_key_filters;	/* drop rows without a partner before they
										 * are fed */
extern bool gj_verify;			/* run both plans and compare */
extern bool gj_explain_rejected;
extern char *gj_socket;
extern double gj_min_rows;		/* of a join's inputs together */
extern int	gj_queue_timeout;	/* ms */
extern int	gj_connect_timeout; /* ms */
extern double gj_role_share;	/* of the daemon's memory, for a role's jobs */
extern int	gj_max_job_memory;	/* kB; -1: no limit */
extern double gj_startup_cost;
extern double gj_cached_page_cost;	/* feed: of a page's cost, if it is in
											 * memory */
extern double gj_page_row_cost; /* feed: per row, per column */
extern double gj_page_column_cost;
extern double gj_page_walk_cost;	/* per column of a row that is skipped */
extern double gj_child_row_cost;
extern double gj_child_column_cost;
extern double gj_return_row_cost;
extern double gj_return_column_cost;
extern double gj_ns_cost;		/* planner cost of one ns of the daemon's calibrated rates */
/*
 * One ns of a backend in the planner's unit: a sequential scan needs about
 * 33 ns to return a row and is charged cpu_tuple_cost, 0.01, for it.  The
 * defaults of all cost settings have this unit.
 */
#define GJ_NS_COST 0.0003

extern double gj_cost_margin;	/* added to costs that are not core's */

/*
 * What the cost model corrects in core's estimates.  gpujoin.debug_without switches each of
 * them off by itself, so that `make ablation` can show which plans it gains.
 */
typedef enum GjCorrection
{
	GJ_COLUMNS_GROWTH,			/* joins by several columns have more rows */
	GJ_RANGES_GROWTH,			/* so have joins with a range of an ordered table */
	GJ_STATISTICS_GROWTH,		/* so have columns and conditions without statistics */
	GJ_GROUPS_GROWTH,			/* more rows are more groups */
	GJ_TABLE_ORDER,				/* index scans of an ordered table read pages in order */
	GJ_PROBES_FOUND,			/* not every probe of an index finds rows */
	GJ_UNIT_WITHOUT_OURS,		/* the unit is that of the path without ours below it */
	GJ_UNIT_OF_PATH,			/* a slower path of ours costs more than the native one, a faster one less */
	GJ_UNIT_OF_ORDER,			/* native nodes cost at least what their time is charged */
	GJ_TOPMOST_LAST,			/* the topmost join waits for all native paths */
	GJ_MANY_RESULTS,			/* the return of more rows than expected is charged */
	GJ_PREFETCH,				/* the page feed prefetches pages */
	GJ_CORRECTIONS
} GjCorrection;

/* Is this correction made? */
extern bool gj_corrects(GjCorrection correction);

/* Which algorithm is to execute the joins of a job. */
typedef enum GjAlgorithm
{
	GJ_ALGORITHM_AUTO,			/* the daemon chooses for each join */
	GJ_ALGORITHM_PHJ_OM,
	GJ_ALGORITHM_PHJ_UM,
	GJ_ALGORITHM_SMJ_OM,
	GJ_ALGORITHM_SMJ_UM,
	GJ_ALGORITHM_NPJ
} GjAlgorithm;

extern int	gj_algorithm;		/* GjAlgorithm */

/* The name of an algorithm, as the setting and the job write it. */
extern const char *gj_algorithm_name(GjAlgorithm algorithm);

/* Which columns the daemon may keep for later jobs. */
typedef enum GjKeep
{
	GJ_KEEP_AUTO,				/* those that jobs use repeatedly */
	GJ_KEEP_OFF,				/* none, and none that are kept are used */
	GJ_KEEP_ALWAYS				/* all that a job uses */
} GjKeep;

extern int	gj_keep;			/* GjKeep */

extern char *gj_freshness;		/* of foreign servers; empty: what their options say */

#define GJ_FRESHNESS_LATEST (-1)

/*
 * Reads a freshness: "latest", or the maximum age as a time, in ms without a unit.
 * Returns false if it is neither.
 */
extern bool gj_parse_freshness(const char *value, int *ms);

/* Who is told that the native plan runs in place of a job. */
typedef enum GjLogFallbacks
{
	GJ_LOG_OFF,
	GJ_LOG_LOG,					/* the server's log */
	GJ_LOG_NOTICE				/* the client, by a notice */
} GjLogFallbacks;

extern int	gj_log_fallbacks;	/* GjLogFallbacks */

/* Does gpujoin.max_job_memory forbid a job of this many bytes? */
extern bool gj_exceeds_job_memory(double bytes);

extern void gj_define_options(void);

#endif							/* OPTIONS_H */
