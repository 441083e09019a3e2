/*
 * foreign/scan.h - scans of foreign tables: jobs of one input, without a join.
 */
#ifndef FOREIGN_SCAN_H
#define FOREIGN_SCAN_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

#include "exec/parameters.h"
#include "explain/explain.h"
#include "job/job.h"
#include "result/result.h"
#include "source/source.h"

/* ---- the job that reads columns of a table (foreign/columns.c) ---- */

/*
 * A plan that returns columns of a foreign table: those in attnums, which has the
 * numbers as pull_varattnos() gives them.  A whole-row Var stands for all columns.
 * The plan has one column at least.
 */
extern GjPlan *gj_plan_of_columns(Oid relid, Oid userid, const Bitmapset *attnums);

/* Completes the input's columns that only its conditions read. */
extern void gj_name_hidden_columns(GjInput *input);

/* The table's conditions that the daemon does not evaluate (foreign/plan.c). */
extern List *gj_local_conditions(PlannerInfo *root, const RelOptInfo *rel);

/* ---- rows of the daemon as rows of the table (foreign/rows.c) ---- */

/* A value that comes as text. */
typedef struct GjTextInput
{
	bool		used;
	FmgrInfo	function;		/* the type's input function */
	Oid			argument;
	int32		typmod;
} GjTextInput;

typedef struct GjTableReader
{
	GjReader	reader;
	const GjPlan *plan;			/* of gj_plan_of_columns(), perhaps with a condition */
	GjTextInput *texts;			/* of each output */
	Datum	   *values;			/* a row of the daemon */
	bool	   *isnull;
} GjTableReader;

/* Prepares the conversion of rows to those of the table.  Allocates in the current context. */
extern void gj_table_reader_init(GjTableReader *reader, GjLink *link, const GjPlan *plan,
								 TupleDesc desc);

/*
 * Returns the next row, with NULL in the columns that are not read.  Values of types
 * that come as text are allocated in the current context, the others are valid until
 * the next call.
 */
extern GjRead gj_table_reader_next(GjTableReader *reader, TupleDesc desc, Datum *values,
								   bool *isnull);

/* ---- jobs (foreign/run.c) ---- */

/*
 * Opens a job for the plan, which reads what the pin names, and lets it run.
 * parameters are their values, separated by commas.  sample: so many rows are
 * chosen at random; 0: all.  Raises an error if that fails.
 */
extern void gj_scan_open(GjLink *link, const GjPlan *plan, const GjPin *pin,
						 const char *parameters, int64 sample, bool rewindable);

/* Raises the error that the connection failed with while it read a table. */
extern void gj_scan_failed(const GjConnection *conn, Oid relid) __attribute__((noreturn));

/* ---- scans ---- */

typedef struct GjScanState
{
	GjPlan	   *plan;			/* with the conditions that the daemon evaluates */
	GjPlan	   *unconditional;	/* without; made if a value of a parameter needs it */
	const GjPlan *job;			/* the one of them that the link runs; NULL: none */
	Oid			relid;
	GjParameterValues values;
	char	   *parameters;		/* those of the job that the link runs */
	const GjPin *pin;			/* NULL: not executed yet */
	GjLink		link;
	GjTableReader reader;
	bool		rewindable;		/* the scan may be repeated */
	bool		rewound;		/* the link's job can run again */
	bool		running;
	bool		ended;
	MemoryContext run_context;	/* of one job */
	MemoryContextCallback release;	/* of the query's memory context */
	bool		have_stats;		/* of every job that ended */
	double		rows_removed;	/* by conditions of the daemon */
} GjScanState;

/* The user whose mapping a scan uses. */
extern Oid	gj_scan_user(const ForeignScan *scan, EState *estate);

#endif							/* FOREIGN_SCAN_H */
