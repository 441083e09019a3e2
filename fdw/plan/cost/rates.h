/*
 * plan/cost/rates.h - how long the steps of a native plan take, in ns.
 *
 * Measured on a core of about 3 GHz, for one process.  A step whose name ends in
 * MISS_NS waits for memory, because what it touches is not in a cache.
 */
#ifndef PLAN_COST_RATES_H
#define PLAN_COST_RATES_H

/* ---- Scans of tables and indexes ---- */

#define PAGE_NS 2500			/* to find a cached page and its visible rows */
#define ROW_NS 35				/* to return a row of it to the node above */
#define COLUMN_NS 4				/* to find the next column of a row */
#define DESCENT_NS 1000			/* from the root of an index to its leaf */
#define DESCENT_MISS_NS 2500	/* if the index is not in the cache */
#define ENTRY_NS 30
#define FETCH_NS 120			/* of a row by its address */
#define FETCH_MISS_NS 1600		/* if the table is not in the cache */
#define CACHED_BYTES 2e6		/* no access misses */
#define UNCACHED_BYTES 128e6	/* all miss */

/* ---- Joins ---- */

#define OUTPUT_NS 20			/* to make a row of two others */
#define BUILD_NS 70				/* hash join */
#define PROBE_NS 50
#define MISS_NS 150				/* of either, if the table is not in the cache */
#define BATCH_NS 300			/* to write a row to a file and to read it */
#define MERGE_NS 50
#define RESCAN_NS 60
#define MEMO_NS 150

/* ---- Aggregation, sorting and the other nodes ---- */

#define GROUP_NS 60				/* aggregation, per row that is looked up */
#define GROUP_KEY_NS 25			/* per column */
#define GROUP_MISS_NS 250
#define GROUP_OUT_NS 200		/* per group that is returned */
#define GATHER_ROW_NS 200
#define GATHER_START_NS 5e6
#define SUBQUERY_ROW_NS 15
#define COMPARE_NS 15			/* per row and comparison */
#define COMPARE_SLOW_NS 60		/* of numerics and texts */

/* ---- Expressions, per row ---- */

#define STEP_NS 1.5				/* of the expression interpreter */
#define OPERATOR_NS 6
#define NUMERIC_COMPARISON_NS 25
#define NUMERIC_OPERATOR_NS 70
#define TEXT_NS 30
#define LIKE_NS 110
#define HASHED_SUBPLAN_NS 100
#define TRANSITION_NS 12
#define NUMERIC_TRANSITION_NS 75
#define ORDERED_TRANSITION_NS 300	/* DISTINCT or ORDER BY: rows are sorted */
#define PAGE_INTEGER_NS 2.5		/* comparisons on a page */
#define PAGE_NUMERIC_NS 6
#define PAGE_TEXT_NS 8
#define PAGE_EXPRESSION_NS 25	/* to make a slot of a row */

/* ---- Work of gpujoind that its own rates do not include, and key filters ---- */

#define FILTER_NS 4				/* testing an integer */
#define FILTER_HASH_NS 8		/* testing a key whose bytes are hashed */
#define FILTER_LENGTH_NS 4		/* more, if the lengths of keys differ */
#define FILTER_WORD_NS 1		/* more, for each 8 bytes of a key */
#define FILTER_NUMERIC_NS 4		/* more, for the canonical form of a numeric */
#define FED_ROW_NS 10			/* the daemon's work for a row without a partner, at
								 * least */
#define WIDE_KEY_NS 30			/* grouping by a key that is no integer, per row */
#define WIDE_KEY_MISS_NS 150	/* more, if the groups are not in the cache */

/* ---- Memory ---- */

#define GJ_STORE_NS 30			/* to put a row into memory, or to read it */

#endif							/* PLAN_COST_RATES_H */
