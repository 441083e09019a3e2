/*
 * exec/rows.c - rows of the node, from the daemon or from the native child.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "exec/node.h"
#include "result/result.h"

void
gj_prepare_run(GjState *state)
{
	gj_link_close(&state->link);
	MemoryContextReset(state->run_context);
	gj_link_init(&state->link, state->run_context);
	gj_feeder_reset(&state->feeder);
}

TupleTableSlot *
gj_native_slot(GjState *state)
{
	if (state->plan->aggregate != NULL && state->css.ss.ps.ps_ProjInfo != NULL)
		return state->css.ss.ps.ps_ResultTupleSlot;
	return state->css.ss.ss_ScanTupleSlot;
}

bool
gj_native_next(GjState *state)
{
	TupleTableSlot *slot = gj_native_slot(state);
	TupleTableSlot *row = ExecProcNode(state->native);
	const int  *resnos = state->plan->native_resnos;
	int			natts = slot->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	if (TupIsNull(row))
		return false;
	slot_getallattrs(row);
	if (state->plan->aggregate != NULL)
	{
		memcpy(slot->tts_values, row->tts_values, natts * sizeof(Datum));
		memcpy(slot->tts_isnull, row->tts_isnull, natts * sizeof(bool));
		ExecStoreVirtualTuple(slot);
		return true;
	}
	for (int i = 0; i < state->plan->noutputs; i++)
	{
		int			resno = resnos[i];

		slot->tts_values[i] = resno > 0 ? row->tts_values[resno - 1] : (Datum) 0;
		slot->tts_isnull[i] = resno > 0 ? row->tts_isnull[resno - 1] : true;
	}
	ExecStoreVirtualTuple(slot);
	return true;
}

/* Reads a row of joined columns, or of groups, which are finished here. */
static inline GjRead
next_row(GjState *state, TupleTableSlot *slot)
{
	const GjAggregate *aggregate = state->plan->aggregate;
	MemoryContext old;
	GjRead		read;

	if (likely(aggregate == NULL))
		return gj_reader_next(&state->reader, slot->tts_values, slot->tts_isnull);
	read = gj_reader_next(&state->reader, state->raw_values, state->raw_nulls);
	if (read != GJ_READ_ROW)
		return read;
	old = MemoryContextSwitchTo(state->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	gj_finish_group(aggregate, state->raw_values, state->raw_nulls,
					slot->tts_values, slot->tts_isnull);
	MemoryContextSwitchTo(old);
	return GJ_READ_ROW;
}

GjRead
gj_offload_next(GjState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	ExprState  *qual = state->css.ss.ps.qual;

	for (;;)
	{
		GjRead		read;

		CHECK_FOR_INTERRUPTS();
		if (unlikely(TTS_SHOULDFREE(slot)))
			ExecClearTuple(slot);
		slot->tts_flags |= TTS_FLAG_EMPTY;
		slot->tts_nvalid = 0;
		read = next_row(state, slot);
		if (read != GJ_READ_ROW)
			return read;
		ExecStoreVirtualTuple(slot);
		if (qual == NULL)
			return GJ_READ_ROW;
		econtext->ecxt_scantuple = slot;
		if (ExecQual(qual, econtext))
			return GJ_READ_ROW;
		InstrCountFiltered1(state, 1);
		ResetExprContext(econtext);
	}
}

void
gj_finish_job(GjState *state)
{
	if (state->link.rewindable)
		return;
	gj_report_fetch(state);
	gj_link_close(&state->link);
}
