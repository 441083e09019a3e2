/*
 * stats/statements.h - what became of the statements that were planned with jobs.
 *
 * The counts are in shared memory, so they exist only if the library is in
 * shared_preload_libraries.
 */
#ifndef STATS_STATEMENTS_H
#define STATS_STATEMENTS_H

#include "postgres.h"

#include "nodes/execnodes.h"

/* Why a native plan ran in place of a job. */
typedef enum GjWhyNative
{
	GJ_WHY_UNSUITABLE,			/* a value or a job that the daemon does not take */
	GJ_WHY_SILENT,				/* no daemon, or no answer */
	GJ_WHY_BUSY,				/* no memory or descriptors for the job */
	GJ_WHY_FAILED,				/* the daemon gave up, or broke off */
	GJ_WHYS
} GjWhyNative;

/* The name of a reason. */
extern const char *gj_why_name(GjWhyNative why);

typedef struct GjCounts
{
	uint64		calls;			/* executions that reached a node of ours */
	uint64		offloaded;		/* of these, with a job that returned rows */
	uint64		jobs;			/* that returned rows */
	uint64		native[GJ_WHYS];	/* scans that ran the native plan in place of one */
	double		feed_us;		/* of all jobs together, as the next ones */
	double		join_us;
	double		return_us;
	double		native_us;		/* that their native plans were expected to take */
} GjCounts;

/* What one execution of a statement has done so far in this process. */
typedef struct GjStatement
{
	Oid			user;
	Oid			database;
	uint64		query;
	GjCounts	counts;
	MemoryContextCallback done; /* adds them to those in shared memory */
} GjStatement;

/* Called when the library is loaded: defines the setting and asks for shared memory. */
extern void gj_install_statements(void);

/*
 * The execution to which a node belongs: one for all nodes of a statement.  NULL if
 * nothing is counted.
 */
extern GjStatement *gj_statement(EState *estate);

/* The execution has reached a node of ours. */
extern void gj_statement_called(GjStatement *statement);

/* A job has returned rows. */
extern void gj_statement_offloaded(GjStatement *statement, uint64 feed_us, uint64 join_us, double native_ns);

/* ---- for the SQL functions ---- */

typedef struct GjTotals
{
	Oid			user;
	Oid			database;
	uint64		query;
	GjCounts	counts;
	TimestampTz since;
} GjTotals;

/* A copy of all, *n of them.  Raises an error if there is no shared memory. */
extern GjTotals *gj_statements_all(int *n);

/* Forgets all.  Returns when. */
extern TimestampTz gj_statements_reset(void);

/* How many were dropped for others, and since when. */
extern void gj_statements_info(int64 *dropped, TimestampTz *since);

#endif							/* STATS_STATEMENTS_H */
