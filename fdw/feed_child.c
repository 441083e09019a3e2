/*
 * feed_child.c - rows of a child plan, one by one.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "exec.h"

bool
gj_feed_child(GjState *state, int input, GjWriter *writer)
{
	PlanState  *child = state->inputs[input];
	int			ncolumns = writer->ncolumns;
	int		   *resnos = palloc(Max(1, ncolumns) * sizeof(int));
	bool	   *by_value = palloc(Max(1, ncolumns) * sizeof(bool));
	const char **pointers = palloc(Max(1, ncolumns) * sizeof(char *));
	GjVector   *vectors = palloc(Max(1, ncolumns) * sizeof(GjVector));
	int			last = 0;
	uint32		seen = 0;

	for (int i = 0; i < ncolumns; i++)
	{
		const GjColumn *column = writer->columns[i].column;

		resnos[i] = column->resno;
		last = Max(last, column->resno);
		by_value[i] = get_typbyval(column->type);
		vectors[i] = (GjVector)
		{
			.pointers = &pointers[i], .nullable = true
		};
	}

	for (;;)
	{
		TupleTableSlot *slot;
		GjPut		put;

		CHECK_FOR_INTERRUPTS();
		slot = ExecProcNode(child);
		if (TupIsNull(slot))
			return true;
		slot_getsomeattrs(slot, last);
		for (int i = 0; i < ncolumns; i++)
		{
			int			attribute = resnos[i] - 1;

			/* little-endian: a by-value datum begins with its lowest byte */
			if (slot->tts_isnull[attribute])
				pointers[i] = NULL;
			else if (by_value[i])
				pointers[i] = (const char *) &slot->tts_values[attribute];
			else
				pointers[i] = DatumGetPointer(slot->tts_values[attribute]);
		}
		put = gj_writer_append(writer, vectors, 1);
		if (unlikely(put != GJ_PUT_OK) &&
			(put == GJ_PUT_FAILED || !gj_writer_append_row(writer, vectors)))
			return false;
		if (unlikely(!writer->scratch->isReset))
			MemoryContextReset(writer->scratch);
		if (unlikely((++seen & 1023) == 0) && state->shared != NULL &&
			gj_parallel_stopped(state->shared))
			return gj_fail(&state->link.conn, "another participant gave up");
	}
}
