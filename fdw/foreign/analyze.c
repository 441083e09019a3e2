/*
 * foreign/analyze.c - statistics of a foreign table, from rows that the daemon chooses.
 *
 * As in postgres_fdw, they are read with the user mapping of the table's owner.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "commands/vacuum.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "foreign/scan.h"
#include "foreign/versions.h"
#include "foreign/wrapper.h"

/* What a pin needs of a statement that reads the whole table. */
static EState *
begin_statement(Relation relation)
{
	EState	   *estate = CreateExecutorState();
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	gj_set_range_table(estate, relation, relation->rd_rel->relowner,
					   bms_make_singleton(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber));
	MemoryContextSwitchTo(old);
	return estate;
}

/* Reads the sample's rows into the caller's memory.  Returns how many there are. */
static int
read_sample(GjTableReader *reader, Relation relation, HeapTuple *rows, int most)
{
	TupleDesc	desc = RelationGetDescr(relation);
	Datum	   *values = palloc0(desc->natts * sizeof(Datum));
	bool	   *isnull = palloc(desc->natts * sizeof(bool));
	MemoryContext row = AllocSetContextCreate(CurrentMemoryContext, "gpujoin sample row",
											  ALLOCSET_DEFAULT_SIZES);
	int			n = 0;

	if (!gj_reader_start(&reader->reader))
		gj_scan_failed(&reader->reader.link->conn, RelationGetRelid(relation));
	for (;;)
	{
		MemoryContext old = MemoryContextSwitchTo(row);
		GjRead		read;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(row);
		read = gj_table_reader_next(reader, desc, values, isnull);
		MemoryContextSwitchTo(old);
		if (read == GJ_READ_FAILED)
			gj_scan_failed(&reader->reader.link->conn, RelationGetRelid(relation));
		if (read == GJ_READ_END || n == most)
			break;
		rows[n++] = heap_form_tuple(desc, values, isnull);
	}
	MemoryContextDelete(row);
	return n;
}

/* The number of rows of the whole table, of which n were chosen. */
static double
count_rows(GjLink *link, int n)
{
	GjStats		stats;

	if (!gj_receive_stats(link, NULL) ||
		!gj_stats_read(&stats, link->conn.body, link->conn.frame.length))
		return n;
	return Max(stats.total->rows_in, (uint64) n);
}

static int
acquire_sample(Relation relation, int elevel, HeapTuple *rows, int most, double *total,
			   double *dead)
{
	EState	   *estate = begin_statement(relation);
	Bitmapset  *all = bms_make_singleton(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber);
	GjPlan	   *plan = gj_plan_of_columns(RelationGetRelid(relation), relation->rd_rel->relowner, all);
	GjLink		link;
	GjTableReader reader;
	int			n = 0;

	gj_link_init(&link, CurrentMemoryContext);
	PG_TRY();
	{
		const GjPin *pin = gj_pin(estate, plan->inputs[0].mirror->serverid, relation->rd_rel->relowner);

		gj_scan_open(&link, plan, pin, "", most, false);
		gj_table_reader_init(&reader, &link, plan, RelationGetDescr(relation));
		n = read_sample(&reader, relation, rows, most);
		*total = count_rows(&link, n);
		*dead = 0;
	}
	PG_FINALLY();
	{
		gj_link_close(&link);
		FreeExecutorState(estate);
	}
	PG_END_TRY();
	ereport(elevel,
			(errmsg("\"%s\": foreign table contains %.0f rows; %d rows in sample",
					RelationGetRelationName(relation), *total, n)));
	return n;
}

bool
gj_foreign_analyze(Relation relation, AcquireSampleRowsFunc *sample, BlockNumber *pages)
{
	double		bytes;

	(void) gj_source_rows(RelationGetRelid(relation), relation->rd_rel->relowner, &bytes);
	*sample = acquire_sample;
	*pages = (BlockNumber) Min(Max(bytes, 0) / BLCKSZ + 1, MaxBlockNumber);
	return true;
}
