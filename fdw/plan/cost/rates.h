/*
 * plan/cost/rates.h - how long the steps of a native plan take, in ns.
 *
 * Measured on a core of about 3 GHz, for one process, and scaled by what the daemon has
 * measured of this machine's cores (gj_set_machine).  A step whose name ends in MISS_NS
 * waits for memory, because what it touches is not in a cache.
 */
#ifndef PLAN_COST_RATES_H
#define PLAN_COST_RATES_H

/* This machine.  The factors are 1 on the one where the rates were measured. */
typedef struct GjMachine
{
	double		cpu;			/* work in the caches */
	double		memory;			/* accesses to memory */
	double		cached_bytes;	/* up to which no access misses */
	double		uncached_bytes; /* from which all miss */
	int			processors;		/* that the daemon may use */
} GjMachine;

extern GjMachine gj_machine;

/* What the daemon measures of that machine (joincore/costmodel: TypicalMachine). */
#define REFERENCE_PROBE_NS 3.9
#define REFERENCE_LOAD_NS 170

#define CPU_NS(ns) ((ns) * gj_machine.cpu)
#define MEMORY_NS(ns) ((ns) * gj_machine.memory)

/* ---- Scans of tables and indexes ---- */

#define PAGE_NS CPU_NS(2500)			/* to find a cached page and its visible rows */
#define ROW_NS CPU_NS(35)				/* to return a row of it to the node above */
#define COLUMN_NS CPU_NS(4)				/* to find the next column of a row */
#define DESCENT_NS CPU_NS(1000)			/* from the root of an index to its leaf */
#define DESCENT_MISS_NS MEMORY_NS(2500)	/* if the index is not in the cache */
#define ENTRY_NS CPU_NS(30)
#define FETCH_NS CPU_NS(120)			/* of a row by its address */
#define FETCH_MISS_NS MEMORY_NS(1600)	/* if the table is not in the cache */

/* ---- Joins ---- */

#define OUTPUT_NS CPU_NS(20)			/* to make a row of two others */
#define BUILD_NS CPU_NS(70)				/* hash join */
#define PROBE_NS CPU_NS(50)
#define MISS_NS MEMORY_NS(150)			/* of either, if the table is not in the cache */
#define BATCH_NS CPU_NS(300)			/* to write a row to a file and to read it */
#define MERGE_NS CPU_NS(50)
#define RESCAN_NS CPU_NS(60)
#define MEMO_NS CPU_NS(150)

/* ---- Aggregation, sorting and the other nodes ---- */

#define GROUP_NS CPU_NS(60)				/* aggregation, per row that is looked up */
#define GROUP_KEY_NS CPU_NS(25)			/* per column */
#define GROUP_MISS_NS MEMORY_NS(250)
#define GROUP_OUT_NS CPU_NS(200)		/* per group that is returned */
#define GATHER_ROW_NS CPU_NS(200)
#define GATHER_START_NS CPU_NS(5e6)
#define SUBQUERY_ROW_NS CPU_NS(15)
#define COMPARE_NS CPU_NS(15)			/* per row and comparison */
#define COMPARE_SLOW_NS CPU_NS(60)		/* of numerics and texts */

/* ---- Expressions, per row ---- */

#define STEP_NS CPU_NS(1.5)				/* of the expression interpreter */
#define OPERATOR_NS CPU_NS(6)
#define NUMERIC_COMPARISON_NS CPU_NS(25)
#define NUMERIC_OPERATOR_NS CPU_NS(70)
#define TEXT_NS CPU_NS(30)
#define LIKE_NS CPU_NS(110)
#define HASHED_SUBPLAN_NS CPU_NS(100)
#define TRANSITION_NS CPU_NS(12)
#define NUMERIC_TRANSITION_NS CPU_NS(75)
#define ORDERED_TRANSITION_NS CPU_NS(300)	/* DISTINCT or ORDER BY: rows are sorted */
#define PAGE_INTEGER_NS CPU_NS(2.5)		/* comparisons on a page */
#define PAGE_NUMERIC_NS CPU_NS(6)
#define PAGE_TEXT_NS CPU_NS(8)
#define PAGE_EXPRESSION_NS CPU_NS(25)	/* to make a slot of a row */

/* ---- Work of gpujoind that its own rates do not include, and key filters ---- */

#define FILTER_NS CPU_NS(4)				/* testing an integer */
#define FILTER_HASH_NS CPU_NS(8)		/* testing a key whose bytes are hashed */
#define FILTER_LENGTH_NS CPU_NS(4)		/* more, if the lengths of keys differ */
#define FILTER_WORD_NS CPU_NS(1)		/* more, for each 8 bytes of a key */
#define FILTER_NUMERIC_NS CPU_NS(4)		/* more, for the canonical form of a numeric */
#define FED_ROW_NS CPU_NS(10)			/* the daemon's work for a row without a partner, at
										 * least */
#define WIDE_KEY_NS CPU_NS(30)			/* grouping by a key that is no integer, per row */
#define WIDE_KEY_MISS_NS MEMORY_NS(150)	/* more, if the groups are not in the cache */

/* ---- Conditions of tables that gpujoind keeps, per row that it tests on a core ---- */

#define KEPT_ROW_NS CPU_NS(0.7)			/* to select the rows that pass */
#define KEPT_FURTHER_NS CPU_NS(0.4)		/* for a further condition: to leave out rows */
#define KEPT_CALL_NS CPU_NS(3)			/* of a function */
#define KEPT_LIST_NS CPU_NS(0.5)			/* to search integers in a list */
#define KEPT_TEXT_NS CPU_NS(7)			/* to compare texts */
#define KEPT_TEXT_LIST_NS CPU_NS(10)	/* to search texts in a list */
#define KEPT_PREFIX_NS CPU_NS(10)		/* LIKE of a text that begins the pattern */
#define KEPT_LIKE_NS CPU_NS(22)

/* ---- Memory ---- */

#define GJ_STORE_NS CPU_NS(30)			/* to put a row into memory, or to read it */

#endif							/* PLAN_COST_RATES_H */
