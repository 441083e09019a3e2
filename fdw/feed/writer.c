/*
 * feed/writer.c - starts, fills and hands over the batches of an input.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "daemon/connection.h"
#include "feed/writer.h"

/* ---- long values ---- */

/* Names an extent of a participant's chain. */
static uint64
chain_extent(int participant, uint32 number)
{
	return (uint64) (uint32) participant << 32 | number;
}

static bool
hand_over_chain(GjExtents *extents, GjChain *chain, int participant)
{
	struct gj_chain_header head = {
		.magic = GJ_CHAIN_MAGIC,
		.version = GJ_LAYOUT_VERSION,
		.chain = chain_extent(participant, chain->extents),
		.bytes = chain->used
	};
	struct gj_chain_filled body = {
		.extent = chain->extent.id,
		.chain = head.chain,
		.bytes = chain->used
	};

	memset(chain->extent.base, 0, GJ_CHAIN_DATA_OFF);
	memcpy(chain->extent.base, &head, sizeof(head));
	gj_extent_unmap(extents, &chain->extent);
	chain->extents++;
	chain->used = 0;
	return gj_send(extents->conn, GJ_CHAIN_FILLED, &body, sizeof(body), NULL, 0);
}

bool
gj_chain_write(GjExtents *extents, GjChain *chain, int participant,
			   const char *value, uint64 length, struct gj_chain_ref *ref)
{
	*ref = (struct gj_chain_ref)
	{
		.header = GJ_CHAIN_REF_BYTE,
			.tag = GJ_CHAIN_REF_TAG,
			.offset = chain->used,
			.chain = chain_extent(participant, chain->extents),
			.length = length
	};
	for (uint64 written = 0; written < length;)
	{
		uint64		bytes;
		uint64		more = (length - written) / gj_chain_capacity(extents);

		if (chain->extent.base == NULL &&
			!gj_extent_take(extents, Min(more, 2), &chain->extent))
			return false;
		bytes = Min(length - written, gj_chain_capacity(extents) - chain->used);
		memcpy(chain->extent.base + GJ_CHAIN_DATA_OFF + chain->used, value + written,
			   bytes);
		chain->used += bytes;
		written += bytes;
		if (chain->used == gj_chain_capacity(extents) && !hand_over_chain(extents, chain, participant))
			return false;
	}
	return true;
}

bool
gj_chain_finish(GjExtents *extents, GjChain *chain, int participant)
{
	return chain->extent.base == NULL || hand_over_chain(extents, chain, participant);
}

/* ---- writer ---- */

/*
 * Upper bound of the bytes of a varlena in a batch.  All columns of the plan
 * together leave half of an extent free, so that every row of the inputs and
 * of the result fits one.  Keys have a budget of their own, because a key
 * cannot be chained.
 */
static uint32
inline_limit(const GjPlan *plan, Size extent_size, bool is_key)
{
	int			values = 1;
	int			keys = 0;

	for (int i = 0; i < plan->ninputs; i++)
		for (int j = 0; j < plan->inputs[i].ncolumns + plan->inputs[i].nhidden; j++)
		{
			const GjColumn *column = &plan->inputs[i].columns[j];

			if (column->encoding != GJ_ENC_VARLENA)
				continue;
			if (column->is_key)
				keys++;
			else
				values++;
		}
	return is_key ? extent_size / 4 / keys :
		Min((Size) 64 * 1024, extent_size / 4 / values);
}

GjCopy
gj_copy_of(const GjColumn *column, int length)
{
	switch (column->form)
	{
		case GJ_FORM_DECIMAL:
			return GJ_COPY_DECIMAL;
		case GJ_FORM_NUMERIC_KEY:
			return GJ_COPY_NUMERIC_KEY;
		case GJ_FORM_BPCHAR_KEY:
			return GJ_COPY_BPCHAR_KEY;
		case GJ_FORM_NAME_KEY:
			return GJ_COPY_NAME_KEY;
		case GJ_FORM_FLOAT_KEY:
			return length == sizeof(float4) ? GJ_COPY_FLOAT4_KEY : GJ_COPY_FLOAT8_KEY;
		case GJ_FORM_FLOAT_ORDER:
			return length == sizeof(float4) ? GJ_COPY_FLOAT4_ORDER : GJ_COPY_FLOAT8_ORDER;
		case GJ_FORM_DATE_KEY:
			return GJ_COPY_DATE_KEY;
		case GJ_FORM_INTERVAL_KEY:
			return GJ_COPY_INTERVAL_KEY;
		case GJ_FORM_UNSCALED:
			return GJ_COPY_UNSCALED;
		case GJ_FORM_SCALE:
			return GJ_COPY_SCALE;
		case GJ_FORM_INTEGER:	/* made by the daemon, never fed */
		case GJ_FORM_VALUE:
			break;
	}
	if (column->encoding == GJ_ENC_VARLENA)
		return GJ_COPY_VARLENA;
	if (length == column->width)
		switch (column->width)
		{
			case 1:
				return GJ_COPY_1;
			case 2:
				return GJ_COPY_2;
			case 4:
				return GJ_COPY_4;
			case 8:
				return GJ_COPY_8;
		}
	return GJ_COPY_BYTES;
}

void
gj_writer_init(GjWriter *writer, GjLink *link, GjChain *chain, const GjPlan *plan, int input,
			   int ncolumns, int sharers, MemoryContext scratch)
{
	const GjInput *in = &plan->inputs[input];

	memset(writer, 0, sizeof(*writer));
	writer->extents = &link->extents;
	writer->participant = link->participant;
	writer->chain = chain;
	writer->input = input;
	writer->ncolumns = ncolumns;
	writer->columns = palloc0(Max(1, ncolumns) * sizeof(GjColumnWriter));
	writer->moves = palloc0(Max(1, ncolumns) * 3 * sizeof(GjMove));
	writer->expected = in->rows * in->passing / sharers;
	writer->scratch = scratch;
	for (int i = 0; i < ncolumns; i++)
	{
		GjColumnWriter *c = &writer->columns[i];

		c->column = &in->columns[i];
		c->length = get_typlen(c->column->type);
		c->packable = c->column->form == GJ_FORM_NAME_KEY ||
			get_typstorage(c->column->type) != TYPSTORAGE_PLAIN;
		c->copy = gj_copy_of(c->column, c->length);
		if (c->copy == GJ_COPY_DECIMAL || c->copy == GJ_COPY_UNSCALED)
			gj_quick_numeric_init(&c->numeric, c->column->scale, c->copy == GJ_COPY_UNSCALED);
		if (c->column->encoding == GJ_ENC_VARLENA)
		{
			writer->nvarlena++;
			c->width = Max(c->column->avg_width, 1) + c->column->align / 2;
			c->inline_limit = inline_limit(plan, link->extents.size, c->column->is_key);
		}
	}
}

static void
describe_batch(GjWriter *writer)
{
	char	   *base = writer->extent.base;
	struct gj_column *out = (struct gj_column *) (base + sizeof(struct gj_batch));
	uint64		used = sizeof(struct gj_batch) +
		writer->ncolumns * sizeof(struct gj_column);

	for (int i = 0; i < writer->ncolumns; i++, out++)
	{
		GjColumnWriter *c = &writer->columns[i];
		bool		varlena = gj_is_varlena(c);

		memset(out, 0, sizeof(*out));
		out->encoding = c->column->encoding;
		out->align = c->column->align;
		out->width = c->column->width;
		out->nulls = c->nulls;
		out->values_off = c->values - base;
		used = Max(used, out->values_off + ((uint64) writer->rows + varlena) * gj_item_size(c));
		if (c->nulls > 0)
		{
			out->validity_off = (char *) c->validity - base;
			used = Max(used, (uint64) out->validity_off + (writer->rows + 7) / 8);
		}
		if (varlena)
		{
			out->heap_off = c->heap - base;
			out->heap_len = c->heap_used;
			used = Max(used, (uint64) out->heap_off + c->heap_used);
			c->width = c->heap_used / (double) writer->rows * 1.02 + 0.1;
		}
	}
	*(struct gj_batch *) base = (struct gj_batch)
	{
		.magic = GJ_BATCH_MAGIC,
			.version = GJ_LAYOUT_VERSION,
			.ncols = writer->ncolumns,
			.rows = writer->rows,
			.used = used
	};
}

/* Tells the daemon about a batch, which is unmapped. */
static bool
announce(GjWriter *writer, uint32 rows)
{
	GjConnection *conn = writer->extents->conn;
	GjCapture  *capture = writer->capture;
	struct gj_filled filled = {
		.extent = writer->extent.id,
		.input = writer->input,
		.rows = rows
	};
	struct gj_captured captured = {
		.extent = writer->extent.id,
		.input = writer->input,
		.rows = rows
	};

	if (capture == NULL)
		return gj_send(conn, GJ_FILLED, &filled, sizeof(filled), NULL, 0);
	captured.blocks = capture->n;
	capture->n = 0;
	return gj_send(conn, GJ_CAPTURED, &captured, sizeof(captured), capture->blocks,
				   captured.blocks * sizeof(struct gj_captured_block));
}

static bool
hand_over(GjWriter *writer)
{
	uint32		rows = writer->rows;

	describe_batch(writer);
	writer->total_bytes += gj_layout_bytes(writer);
	writer->total_rows += writer->rows;
	writer->rows = 0;
	gj_extent_unmap(writer->extents, &writer->extent);
	return announce(writer, rows);
}

/*
 * How many extents to request beyond the one that is needed, so that a long
 * feed does not wait for the daemon.  It requests none that will stay unused,
 * because another job may need the memory.
 */
static int
ahead(const GjWriter *writer)
{
	double		rows = writer->expected - writer->total_rows;
	double		batch = writer->extents->size * 8.0 /
		Max(1, gj_layout_row_bits(writer));

	return rows <= batch ? 0 : rows <= 2 * batch ? 1 : 2;
}

static bool
too_wide(GjWriter *writer)
{
	writer->unfit = true;
	return gj_fail(writer->extents->conn, "a row does not fit an extent");
}

bool
gj_writer_next(GjWriter *writer)
{
	if (writer->rows > 0 && !hand_over(writer))
		return false;
	if (writer->extent.base == NULL &&
		!gj_extent_take(writer->extents, ahead(writer), &writer->extent))
		return false;
	writer->rows = 0;
	writer->moved = 0;
	for (int i = 0; i < writer->ncolumns; i++)
	{
		writer->columns[i].heap_used = 0;
		writer->columns[i].nulls = 0;
	}
	if (!gj_layout_place(writer))
		return too_wide(writer);
	if (writer->total_rows + writer->capacity / 2 < writer->expected)
		gj_extent_touch(&writer->extent, 0, writer->extents->size, true);
	return true;
}

/*
 * Discards rows first to end - 1, which were encoded after the rows to be
 * kept.
 */
static void
forget_rows(GjColumnWriter *column, uint32 first, uint32 end)
{
	if (column->nulls > 0)
		for (uint32 row = first; row < end; row++)
			if ((column->validity[row >> 3] & (1 << (row & 7))) == 0)
			{
				column->validity[row >> 3] |= 1 << (row & 7);
				column->nulls--;
			}
	if (gj_is_varlena(column))
		column->heap_used = ((uint32 *) column->values)[first];
}

void
gj_writer_cut(GjWriter *writer, uint32 rows)
{
	if (rows == writer->rows)
		return;
	for (int i = 0; i < writer->ncolumns; i++)
	{
		GjColumnWriter *c = &writer->columns[i];

		forget_rows(c, rows, writer->rows);
		c->heap_placed = Min(c->heap_placed, c->heap_used);
	}
	writer->rows = rows;
	writer->rows_placed = Min(writer->rows_placed, rows);
}

/* gj_writer_append() without moving the arrays. */
static GjPut
append_to_arrays(GjWriter *writer, GjVector *vectors, int *n)
{
	GjPut		put = GJ_PUT_OK;
	int			tried;
	int			rows;
	int			columns = 0;

	if (writer->extent.base == NULL || writer->rows == writer->capacity)
		return GJ_PUT_FULL;
	tried = rows = Min((uint32) *n, writer->capacity - writer->rows);
	if (rows < *n)
		put = GJ_PUT_FULL;
	for (; columns < writer->ncolumns && rows > 0; columns++)
	{
		GjPut		why = GJ_PUT_OK;

		rows = gj_encode(writer, &writer->columns[columns], &vectors[columns], rows, &why);
		if (unlikely(why != GJ_PUT_OK))
			put = why;
		if (unlikely(why == GJ_PUT_FAILED))
			return put;
	}
	if (unlikely(rows < tried))
		for (int i = 0; i < columns; i++)
			forget_rows(&writer->columns[i], writer->rows + rows, writer->rows + tried);
	if (unlikely(rows < *n))
		for (int i = 0; i < writer->ncolumns; i++)
			vectors[i].pointers += rows;
	writer->rows += rows;
	*n -= rows;
	return put;
}

GjPut
gj_writer_append(GjWriter *writer, GjVector *vectors, int *n)
{
	GjPut		put;

	do
		put = append_to_arrays(writer, vectors, n);
	while (unlikely(put == GJ_PUT_FULL) && gj_layout_make_room(writer, vectors));
	return put;
}

/*
 * Appends one row, some of whose values must be chained.  They stay chained if
 * the row turns out not to fit the current batch, so that no value is chained
 * twice.
 */
static bool
append_row(GjWriter *writer, GjVector *vectors)
{
	GjPut		put;
	int			n = 1;

	writer->may_wait = true;
	put = gj_writer_append(writer, vectors, &n);
	if (put == GJ_PUT_FULL)
		put = gj_writer_next(writer) ? gj_writer_append(writer, vectors, &n) : GJ_PUT_FAILED;
	writer->may_wait = false;
	for (int i = 0; i < writer->ncolumns; i++)
	{
		writer->columns[i].chained = false;
		if (put == GJ_PUT_OK)
			vectors[i].pointers++;
	}
	if (put == GJ_PUT_FULL)
		return too_wide(writer);
	return put == GJ_PUT_OK;
}

bool
gj_writer_append_all(GjWriter *writer, GjVector *vectors, int n)
{
	while (n > 0)
	{
		CHECK_FOR_INTERRUPTS();
		switch (gj_writer_append(writer, vectors, &n))
		{
			case GJ_PUT_OK:
				return true;
			case GJ_PUT_FAILED:
				return false;
			case GJ_PUT_FULL:
				if (writer->extent.base != NULL && writer->rows == 0)
					return too_wide(writer);
				if (!gj_writer_next(writer))
					return false;
				break;
			case GJ_PUT_CHAIN:
				if (!append_row(writer, vectors))
					return false;
				n--;
				break;
		}
	}
	return true;
}

bool
gj_writer_finish(GjWriter *writer)
{
	if (writer->extent.base == NULL)
		return true;
	if (writer->rows > 0)
		return hand_over(writer);
	return gj_extent_release(writer->extents, &writer->extent);
}
