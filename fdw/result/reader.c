/*
 * result/reader.c - reads result batches row by row.
 *
 * The datums of a row point into the extent of its batch.  The extent is
 * returned to the daemon when the first row of the next batch is requested.
 * The contents of a batch are not trusted: the header is copied and validated,
 * and a varlena offset is validated each time it is used.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "daemon/connection.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "numeric/decimal.h"
#include "result/result.h"

static GjValue
value_of(const GjColumn *column)
{
	int16		length;
	bool		by_value;

	switch (column->form)
	{
		case GJ_FORM_DECIMAL:
			return GJ_VALUE_DECIMAL;
		case GJ_FORM_INTEGER:
			if (column->width > 8)
				return GJ_VALUE_BYTES;
			length = column->width;
			break;
		case GJ_FORM_VALUE:
			if (column->encoding == GJ_ENC_VARLENA)
				return GJ_VALUE_VARLENA;
			get_typlenbyval(column->type, &length, &by_value);
			if (!by_value)
				return getBaseType(column->type) == NAMEOID ? GJ_VALUE_NAME : GJ_VALUE_BYTES;
			break;
		default:
			elog(ERROR, "a canonical form cannot be returned");
	}
	switch (length)
	{
		case 1:
			return GJ_VALUE_1;
		case 2:
			return GJ_VALUE_2;
		case 4:
			return GJ_VALUE_4;
		case 8:
			return GJ_VALUE_8;
	}
	elog(ERROR, "type %u has an unexpected length of %d", column->type, length);
}

static const GjColumn *
output_column(const GjPlan *plan, const GjOutput *output)
{
	if (plan->aggregate != NULL)
		return &plan->aggregate->columns[output->column];
	return &plan->inputs[output->input].columns[output->column];
}

/* Callback for the chain reader, which does not know about results. */
static bool
stash(void *reader)
{
	return gj_reader_stash(reader);
}

void
gj_reader_init(GjReader *reader, GjLink *link, const GjPlan *plan)
{
	memset(reader, 0, sizeof(*reader));
	reader->link = link;
	reader->ncolumns = plan->noutputs;
	reader->columns = palloc0(Max(1, plan->noutputs) * sizeof(GjColumnReader));
	for (int i = 0; i < plan->noutputs; i++)
	{
		GjColumnReader *c = &reader->columns[i];
		const GjOutput *output = &plan->outputs[i];

		c->column = output_column(plan, output);
		c->value = value_of(c->column);
		if (c->value == GJ_VALUE_DECIMAL)
			c->numeric = palloc(GJ_DECIMAL_DATUM_SIZE);
	}
	reader->chains.link = link;
	reader->chains.context = CurrentMemoryContext;
	reader->chains.stash = stash;
	reader->chains.stash_arg = reader;
}

static bool
give_credits(GjReader *reader, int count)
{
	struct gj_next body = {.count = count};

	reader->credits += count;
	return gj_send(&reader->link->conn, GJ_NEXT, &body, sizeof(body), NULL, 0);
}

bool
gj_reader_start(GjReader *reader)
{
	reader->extent.base = NULL;
	reader->rows = reader->row = 0;
	reader->credits = reader->npending = 0;
	reader->ended = false;
	reader->returned = 0;
	reader->since_us = gj_now_us();
	reader->link->conn.event = GJ_EVENT_RESULT;
	return give_credits(reader, GJ_CREDITS);
}

bool
gj_reader_stash(GjReader *reader)
{
	GjConnection *conn = &reader->link->conn;
	struct gj_result result;
	GjPending  *pending = &reader->pending[reader->npending];

	if (conn->frame.type == GJ_END && conn->frame.length == 0)
	{
		reader->ended = true;
		return true;
	}
	if (conn->frame.type != GJ_RESULT || conn->frame.length != sizeof(result) ||
		conn->nfds != 1 || reader->credits == 0 || reader->npending == GJ_CREDITS)
		return gj_fail(conn, "the daemon sent frame %u instead of a result",
					   conn->frame.type);
	memcpy(&result, conn->body, sizeof(result));
	if (!gj_extent_map(&reader->link->extents, gj_take_fd(conn, 0), result.extent,
					   false, &pending->extent))
		return false;
	pending->rows = result.rows;
	reader->npending++;
	reader->credits--;
	return true;
}

/* Are count items of width bytes at offset off within the extent? */
static bool
within(const GjReader *reader, uint64 off, uint64 count, uint64 width)
{
	uint64		size = reader->link->extents.size;

	return off % 64 == 0 && off <= size && count * width <= size - off;
}

static bool
check_column(GjReader *reader, GjColumnReader *c, const struct gj_column *in)
{
	const char *base = reader->extent.base;
	bool		varlena = c->column->encoding == GJ_ENC_VARLENA;

	if (in->encoding != c->column->encoding || in->width != c->column->width ||
		in->align != c->column->align || in->nulls > reader->rows ||
		(in->nulls > 0 && in->validity_off == 0))
		return false;
	if (!within(reader, in->values_off, (uint64) reader->rows + varlena,
				varlena ? sizeof(uint32) : in->width) ||
		!within(reader, in->validity_off, ((uint64) reader->rows + 7) / 8, 1) ||
		!within(reader, in->heap_off, in->heap_len, 1))
		return false;
	c->values = base + in->values_off;
	c->validity = in->nulls > 0 ? (const uint8 *) base + in->validity_off : NULL;
	c->heap = base + in->heap_off;
	c->heap_len = in->heap_len;
	gj_extent_touch(&reader->extent, in->values_off, ((uint64) reader->rows + varlena) *
					(varlena ? sizeof(uint32) : in->width), false);
	gj_extent_touch(&reader->extent, in->heap_off, in->heap_len, false);
	return true;
}

static bool
open_batch(GjReader *reader, uint32 rows)
{
	const char *base = reader->extent.base;
	struct gj_batch batch;

	memcpy(&batch, base, sizeof(batch));
	if (batch.magic != GJ_BATCH_MAGIC || batch.version != GJ_LAYOUT_VERSION ||
		batch.ncols != reader->ncolumns || batch.rows != rows ||
		batch.flags != 0 || batch.used > reader->link->extents.size)
		return gj_fail(&reader->link->conn, "the daemon sent a malformed batch");
	reader->rows = rows;
	reader->row = 0;
	for (int i = 0; i < reader->ncolumns; i++)
	{
		struct gj_column column;

		memcpy(&column, base + sizeof(batch) + i * sizeof(column), sizeof(column));
		if (!check_column(reader, &reader->columns[i], &column))
			return gj_fail(&reader->link->conn,
						   "the daemon sent a malformed batch: column %d", i);
	}
	return true;
}

bool
gj_reader_report(GjReader *reader)
{
	uint64		now = gj_now_us();
	struct gj_returned body = {
		.rows = reader->returned,
		.return_us = now - reader->since_us
	};

	if (reader->returned == 0)
		return true;
	reader->returned = 0;
	reader->since_us = now;
	return gj_send(&reader->link->conn, GJ_RETURNED, &body, sizeof(body), NULL, 0);
}

static GjRead
next_batch(GjReader *reader)
{
	GjLink	   *link = reader->link;
	uint32		rows;

	if (reader->extent.base != NULL &&
		!gj_extent_release(&link->extents, &reader->extent))
		return GJ_READ_FAILED;
	while (reader->npending == 0)
	{
		if (reader->ended)
		{
			/* all rows are read: a failure no longer matters */
			(void) gj_reader_report(reader);
			return GJ_READ_END;
		}
		if (!gj_link_receive(link, -1) || !gj_reader_stash(reader))
			return GJ_READ_FAILED;
	}
	reader->link->conn.committed = true;
	reader->extent = reader->pending[0].extent;
	rows = reader->pending[0].rows;
	reader->npending--;
	memmove(&reader->pending[0], &reader->pending[1],
			reader->npending * sizeof(GjPending));
	if (!reader->ended && !give_credits(reader, 1))
		return GJ_READ_FAILED;
	return open_batch(reader, rows) ? GJ_READ_ROW : GJ_READ_FAILED;
}

bool
gj_reader_stop(GjReader *reader)
{
	GjExtents  *extents = &reader->link->extents;

	reader->rows = reader->row = 0;
	if (reader->extent.base != NULL &&
		!gj_extent_release(extents, &reader->extent))
		return false;
	while (reader->npending > 0)
		if (!gj_extent_release(extents, &reader->pending[--reader->npending].extent))
			return false;
	return gj_chain_release(&reader->chains);
}

/* Returns a chained value.  Joins repeat rows, so the last value is cached. */
static const char *
chained_value(GjReader *reader, GjColumnReader *c, const struct gj_chain_ref *ref)
{
	if (c->chained != NULL && memcmp(&c->ref, ref, sizeof(*ref)) == 0)
		return c->chained;
	if (c->chained != NULL)
		pfree(c->chained);
	c->chained = gj_chain_receive(&reader->chains, ref);
	c->ref = *ref;
	return c->chained;
}

/* Returns the varlena of a row, or NULL if the batch is malformed. */
static inline const char *
varlena_at(GjReader *reader, GjColumnReader *c, uint32 row)
{
	const volatile uint32 *offsets = (const volatile uint32 *) c->values;
	uint32		from = offsets[row];
	uint32		to = offsets[row + 1];
	uint32		length = to - from;
	const char *value = c->heap + from;

	if (unlikely(from >= to || to > c->heap_len || (from & 3) != 0))
		return NULL;
	if (likely(VARATT_IS_1B(value)))
	{
		struct gj_chain_ref ref;

		if (likely(!VARATT_IS_1B_E(value)))
			return VARSIZE_1B(value) <= length ? value : NULL;
		if (length < sizeof(ref))
			return NULL;
		memcpy(&ref, value, sizeof(ref));
		return chained_value(reader, c, &ref);
	}
	if (length < VARHDRSZ || !VARATT_IS_4B_U(value) ||
		VARSIZE_4B(value) < VARHDRSZ || VARSIZE_4B(value) > length)
		return NULL;
	return value;
}

GjRead
gj_reader_next(GjReader *reader, Datum *values, bool *isnull)
{
	uint32		row;

	while (unlikely(reader->row >= reader->rows))
	{
		GjRead		read = next_batch(reader);

		if (read != GJ_READ_ROW)
		{
			reader->rows = reader->row = 0;
			return read;
		}
	}
	row = reader->row++;
	reader->returned++;

	for (int i = 0; i < reader->ncolumns; i++)
	{
		GjColumnReader *c = &reader->columns[i];
		const char *value;

		if (c->validity != NULL &&
			(c->validity[row >> 3] & (1 << (row & 7))) == 0)
		{
			isnull[i] = true;
			values[i] = (Datum) 0;
			continue;
		}
		isnull[i] = false;
		switch (c->value)
		{
			case GJ_VALUE_1:
				values[i] = CharGetDatum(((const char *) c->values)[row]);
				break;
			case GJ_VALUE_2:
				values[i] = Int16GetDatum(((const int16 *) c->values)[row]);
				break;
			case GJ_VALUE_4:
				values[i] = Int32GetDatum(((const int32 *) c->values)[row]);
				break;
			case GJ_VALUE_8:
				values[i] = Int64GetDatum(((const int64 *) c->values)[row]);
				break;
			case GJ_VALUE_BYTES:
				values[i] = PointerGetDatum(c->values + (Size) row * c->column->width);
				break;
			case GJ_VALUE_NAME:
				value = c->values + (Size) row * c->column->width;
				if (memchr(value, '\0', c->column->width) == NULL)
				{
					gj_fail(&reader->link->conn, "the daemon sent a malformed batch");
					return GJ_READ_FAILED;
				}
				values[i] = PointerGetDatum(value);
				break;
			case GJ_VALUE_DECIMAL:
				gj_decimal_to_numeric(((const int64 *) c->values)[row],
									  c->column->scale, c->numeric);
				values[i] = PointerGetDatum(c->numeric);
				break;
			case GJ_VALUE_VARLENA:
				value = varlena_at(reader, c, row);
				if (unlikely(value == NULL))
				{
					gj_fail(&reader->link->conn, "the daemon sent a malformed batch");
					return GJ_READ_FAILED;
				}
				values[i] = PointerGetDatum(value);
				break;
		}
	}
	return GJ_READ_ROW;
}
