/*
 * exec/verify.c - runs the daemon's plan and the native one, and compares.
 *
 * Both results are sorted as byte strings, on disk if they are large, and
 * merged. They must be equal as multisets, byte for byte.  The rows returned
 * are those of the native plan.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"

#include "compat.h"
#include "exec/node.h"

#define BYTEA_LESS_OPERATOR 1957	/* pg_operator.dat gives it no name */

static Tuplesortstate *
begin_sort(void)
{
	return tuplesort_begin_datum(BYTEAOID, BYTEA_LESS_OPERATOR, InvalidOid, false,
								 work_mem, NULL, TUPLESORT_NONE);
}

/*
 * Returns the row as one bytea.  A formed tuple has one
 * representation per value, provided that no value in it is compressed or
 * stored out of line. Columns that the native plan does not deliver are
 * omitted.
 */
static Datum
row_bytes(GjState *state, TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;
	Datum	   *values = palloc((desc->natts + 1) * sizeof(Datum));
	bool	   *isnull = palloc((desc->natts + 1) * sizeof(bool));
	MinimalTuple tuple;
	bytea	   *bytes;

	for (int i = 0; i < desc->natts; i++)
	{
		values[i] = slot->tts_values[i];
		isnull[i] = slot->tts_isnull[i] ||
			(state->plan->aggregate == NULL && state->plan->native_resnos[i] == 0);
		if (!isnull[i] && TupleDescAttr(desc, i)->attlen == -1)
			values[i] = PointerGetDatum(PG_DETOAST_DATUM(values[i]));
	}
	tuple = gj_form_minimal_tuple(desc, values, isnull);
	bytes = palloc(VARHDRSZ + tuple->t_len);
	SET_VARSIZE(bytes, VARHDRSZ + tuple->t_len);
	memcpy(VARDATA(bytes), tuple, tuple->t_len);
	return PointerGetDatum(bytes);
}

/* The daemon's row in the form of the native child's. */
static TupleTableSlot *
daemon_slot(GjState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	if (gj_native_slot(state) == state->css.ss.ss_ScanTupleSlot)
		return state->css.ss.ss_ScanTupleSlot;
	econtext->ecxt_scantuple = state->css.ss.ss_ScanTupleSlot;
	return ExecProject(state->css.ss.ps.ps_ProjInfo);
}

static uint64
drain_daemon(GjState *state, Tuplesortstate *sort, MemoryContext scratch)
{
	uint64		rows = 0;

	for (;; rows++)
	{
		GjRead		read;
		MemoryContext old;

		/* frees the memory used to evaluate the previous row's conditions */
		ResetExprContext(state->css.ss.ps.ps_ExprContext);
		read = gj_offload_next(state);
		if (read == GJ_READ_FAILED)
			ereport(ERROR,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("join daemon failed while its result was being verified"),
					 gj_failure_detail(&state->link.conn)));
		if (read == GJ_READ_END)
			return rows;
		old = MemoryContextSwitchTo(scratch);
		tuplesort_putdatum(sort, row_bytes(state, daemon_slot(state)), false);
		MemoryContextSwitchTo(old);
		MemoryContextReset(scratch);
	}
}

static uint64
drain_native(GjState *state, Tuplesortstate *sort, MemoryContext scratch)
{
	uint64		rows = 0;

	for (; gj_native_next(state); rows++)
	{
		MemoryContext old = MemoryContextSwitchTo(scratch);

		CHECK_FOR_INTERRUPTS();
		tuplesort_putdatum(sort, row_bytes(state, gj_native_slot(state)), false);
		MemoryContextSwitchTo(old);
		MemoryContextReset(scratch);
		tuplestore_puttupleslot(state->verified, gj_native_slot(state));
	}
	return rows;
}

/* Position, in sort order, of the first difference.  -1: none. */
static int64
first_difference(Tuplesortstate *left, Tuplesortstate *right, uint64 rows)
{
	for (uint64 i = 0; i < rows; i++)
	{
		Datum		a;
		Datum		b;
		bool		isnull;
		bool		equal;

		CHECK_FOR_INTERRUPTS();
		if (!gj_tuplesort_getdatum(left, &a, &isnull) ||
			!gj_tuplesort_getdatum(right, &b, &isnull))
			return i;
		equal = VARSIZE_ANY_EXHDR(DatumGetPointer(a)) == VARSIZE_ANY_EXHDR(DatumGetPointer(b)) &&
			memcmp(VARDATA_ANY(DatumGetPointer(a)), VARDATA_ANY(DatumGetPointer(b)),
				   VARSIZE_ANY_EXHDR(DatumGetPointer(a))) == 0;
		pfree(DatumGetPointer(a));
		pfree(DatumGetPointer(b));
		if (!equal)
			return i;
	}
	return -1;
}

void
gj_verify_run(GjState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext scratch = AllocSetContextCreate(state->run_context, "OffloadJoin verify",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Tuplesortstate *daemon = begin_sort();
	Tuplesortstate *native = begin_sort();
	uint64		daemon_rows;
	uint64		native_rows;
	int64		difference;

	state->verified = tuplestore_begin_heap(false, false, work_mem);
	if (state->verified_slot == NULL)
		state->verified_slot =
			ExecInitExtraTupleSlot(estate,
								   gj_native_slot(state)->tts_tupleDescriptor,
								   &TTSOpsMinimalTuple);
	daemon_rows = drain_daemon(state, daemon, scratch);
	gj_finish_job(state);
	native_rows = drain_native(state, native, scratch);
	if (daemon_rows != native_rows)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("join daemon returned " UINT64_FORMAT " rows, native plan returned " UINT64_FORMAT,
						daemon_rows, native_rows)));
	tuplesort_performsort(daemon);
	tuplesort_performsort(native);
	difference = first_difference(daemon, native, native_rows);
	if (difference >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("join daemon and native plan returned different rows"),
				 errdetail("Of " UINT64_FORMAT " sorted rows, row " INT64_FORMAT " is the first that differs.",
						   native_rows, difference + 1)));
	tuplesort_end(daemon);
	tuplesort_end(native);
	MemoryContextSwitchTo(old);
	state->mode = GJ_MODE_VERIFIED;
}
