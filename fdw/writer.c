/*
 * writer.c - how batches of an input are laid out, begun and handed over.
 *
 * A batch has room for capacity rows: per column an array of values, a bitmap
 * of validity, and for varlena a heap whose size follows the widths seen so
 * far.  A batch ends when any of them is full.  What the last rows of an
 * extent leave free stays free: extents are few and large.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "writer.h"

#define ALIGN64(n) TYPEALIGN64(64, (n))



static uint32
inline_limit(const GjPlan *plan, Size extent_size)
{
	int			varlena = 1;

	for (int i = 0; i < plan->ninputs; i++)
		for (int j = 0; j < plan->inputs[i].ncolumns; j++)
			if (plan->inputs[i].columns[j].encoding == GJ_ENC_VARLENA)
				varlena++;
	return Min(64 * 1024, extent_size / 4 / varlena);
}

static GjCopy
copy_of(const GjColumn *column, const GjColumnWriter *writer)
{
	switch (column->form)
	{
		case GJ_FORM_DECIMAL:
			return GJ_COPY_DECIMAL;
		case GJ_FORM_NUMERIC_KEY:
			return GJ_COPY_NUMERIC_KEY;
		case GJ_FORM_BPCHAR_KEY:
			return GJ_COPY_BPCHAR_KEY;
		case GJ_FORM_VALUE:
			break;
	}
	if (column->encoding == GJ_ENC_VARLENA)
		return GJ_COPY_VARLENA;
	if (writer->length == column->width)
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
gj_writer_init(GjWriter *writer, GjExtents *extents, const GjPlan *plan,
			   int input, int participant, int sharers, uint32 *next_chain,
			   MemoryContext scratch)
{
	const GjInput *in = &plan->inputs[input];

	memset(writer, 0, sizeof(*writer));
	writer->extents = extents;
	writer->input = input;
	writer->participant = participant;
	writer->ncolumns = in->ncolumns;
	writer->columns = palloc0(Max(1, in->ncolumns) * sizeof(GjColumnWriter));
	writer->inline_limit = inline_limit(plan, extents->size);
	writer->expected = in->rows / sharers;
	writer->scratch = scratch;
	writer->next_chain = next_chain;
	for (int i = 0; i < in->ncolumns; i++)
	{
		GjColumnWriter *c = &writer->columns[i];

		c->column = &in->columns[i];
		c->length = get_typlen(c->column->type);
		c->packable = get_typstorage(c->column->type) != TYPSTORAGE_PLAIN;
		c->copy = copy_of(c->column, c);
		if (c->column->encoding == GJ_ENC_VARLENA)
		{
			writer->nvarlena++;
			c->seen_width = Max(c->column->avg_width, 1) + c->column->align / 2;
		}
	}
}

/*
 * Places the columns in the extent.  Each array may lose up to 63 bytes to
 * its alignment.
 */
static bool
lay_out(GjWriter *writer)
{
	Size		head = ALIGN64(sizeof(struct gj_batch) +
							   writer->ncolumns * sizeof(struct gj_column));
	Size		fixed = head + writer->ncolumns * 3 * 64;
	Size		reserve = Max(GJ_PAGE_HEAP, writer->inline_limit + 64);
	double		row_bits = 0;
	double		capacity;
	Size		at = head;

	for (int i = 0; i < writer->ncolumns; i++)
	{
		const GjColumnWriter *c = &writer->columns[i];

		row_bits += 1;
		if (c->column->encoding == GJ_ENC_FIXED)
			row_bits += 8 * c->column->width;
		else
			row_bits += 8 * (sizeof(uint32) + c->seen_width);
	}

	/* many columns in a small extent: heaps only as large as one value */
	if (fixed + writer->nvarlena * reserve > writer->extents->size / 2)
		reserve = writer->inline_limit + 64;
	fixed += writer->nvarlena * (reserve + sizeof(uint32));
	if (fixed >= writer->extents->size)
		return gj_fail(writer->extents->conn, "a row does not fit an extent");
	capacity = (writer->extents->size - fixed) * 8.0 / Max(1, row_bits);
	if (capacity < 1)
		return gj_fail(writer->extents->conn, "a row does not fit an extent");
	writer->capacity = (uint32) Min(capacity, 1 << 24);

	for (int i = 0; i < writer->ncolumns; i++)
	{
		GjColumnWriter *c = &writer->columns[i];
		bool		varlena = c->column->encoding == GJ_ENC_VARLENA;
		Size		width = varlena ? sizeof(uint32) : (Size) c->column->width;

		c->values = writer->extent.base + at;
		at = ALIGN64(at + (writer->capacity + (varlena ? 1 : 0)) * width);
		c->validity = (uint8 *) writer->extent.base + at;
		at = ALIGN64(at + (writer->capacity + 7) / 8);
		c->heap_used = 0;
		c->nulls = 0;
		if (varlena)
		{
			c->heap = writer->extent.base + at;
			c->heap_size = reserve + (uint32) (writer->capacity * c->seen_width);
			at = ALIGN64(at + c->heap_size);
			((uint32 *) c->values)[0] = 0;
		}
	}
	Assert(at <= writer->extents->size);
	return true;
}

bool
gj_writer_has_room(const GjWriter *writer, uint32 rows, uint32 heap_bytes)
{
	if (writer->extent.base == NULL || writer->capacity - writer->rows < rows)
		return false;
	if (writer->nvarlena > 0)
		for (int i = 0; i < writer->ncolumns; i++)
		{
			const GjColumnWriter *c = &writer->columns[i];

			if (c->column->encoding == GJ_ENC_VARLENA &&
				c->heap_size - c->heap_used < heap_bytes)
				return false;
		}
	return true;
}

/* Writes the batch's header; returns the bytes of the extent in use. */
static uint64
describe_batch(GjWriter *writer)
{
	char	   *base = writer->extent.base;
	struct gj_column *out = (struct gj_column *) (base + sizeof(struct gj_batch));
	uint64		used = sizeof(struct gj_batch) +
		writer->ncolumns * sizeof(struct gj_column);

	for (int i = 0; i < writer->ncolumns; i++, out++)
	{
		GjColumnWriter *c = &writer->columns[i];
		bool		varlena = c->column->encoding == GJ_ENC_VARLENA;

		memset(out, 0, sizeof(*out));
		out->encoding = c->column->encoding;
		out->align = c->column->align;
		out->width = c->column->width;
		out->nulls = c->nulls;
		out->values_off = c->values - base;
		used = Max(used, out->values_off + (varlena ?
											(writer->rows + 1) * sizeof(uint32) :
											(uint64) writer->rows * c->column->width));
		if (c->nulls > 0)
		{
			out->validity_off = (char *) c->validity - base;
			used = Max(used, out->validity_off + (writer->rows + 7) / 8);
		}
		if (varlena)
		{
			out->heap_off = c->heap - base;
			out->heap_len = c->heap_used;
			used = Max(used, (uint64) out->heap_off + c->heap_used);
			c->seen_width = c->heap_used / (double) writer->rows * 1.02 + 0.1;
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
	return used;
}

static bool
hand_over(GjWriter *writer)
{
	struct gj_filled body = {
		.extent = writer->extent.id,
		.input = writer->input,
		.rows = writer->rows
	};

	writer->total_bytes += describe_batch(writer);
	writer->total_rows += writer->rows;
	writer->rows = 0;
	gj_extent_unmap(writer->extents, &writer->extent);
	return gj_send(writer->extents->conn, GJ_FILLED, &body, sizeof(body), NULL, 0);
}

/*
 * Extents to ask for beyond the one that is needed, so that a long feed does
 * not wait for the daemon; none that will not be used, as the memory may be
 * somebody else's.
 */
static int
ahead(const GjWriter *writer)
{
	double		rows = writer->expected - writer->total_rows;
	double		batch = writer->capacity > 0 ? writer->capacity : 100000;

	return rows <= batch ? 0 : rows <= 2 * batch ? 1 : 2;
}

bool
gj_writer_next_batch(GjWriter *writer)
{
	if (writer->rows > 0 && !hand_over(writer))
		return false;
	if (writer->extent.base == NULL)
	{
		if (!gj_extent_take(writer->extents, ahead(writer), &writer->extent))
			return false;
		if (!lay_out(writer))
			return false;
		if (writer->total_rows + writer->capacity / 2 < writer->expected)
			gj_extent_touch(&writer->extent, writer->extents->size, true);
	}
	writer->rows = 0;
	return true;
}

/* Marks rows from first on as not NULL again. */
static void
forget_rows(GjColumnWriter *column, uint32 first, uint32 nulls, uint32 heap_used,
			int n)
{
	if (column->nulls != nulls)
		for (uint32 row = first; row < first + n; row++)
			column->validity[row >> 3] |= 1 << (row & 7);
	column->nulls = nulls;
	column->heap_used = heap_used;
}

GjPut
gj_writer_append(GjWriter *writer, const GjVector *vectors, int n)
{
	uint32		stack[2][32];
	uint32	   *nulls = stack[0];
	uint32	   *heaps = stack[1];
	GjPut		put = GJ_PUT_OK;
	int			done = 0;

	if (writer->extent.base == NULL || writer->capacity - writer->rows < (uint32) n)
		return GJ_PUT_FULL;
	if (writer->ncolumns > (int) lengthof(stack[0]))
	{
		nulls = MemoryContextAlloc(writer->scratch,
								   2 * writer->ncolumns * sizeof(uint32));
		heaps = nulls + writer->ncolumns;
	}
	for (; done < writer->ncolumns; done++)
	{
		GjColumnWriter *c = &writer->columns[done];

		nulls[done] = c->nulls;
		heaps[done] = c->heap_used;
		put = gj_encode(writer, c, writer->rows, &vectors[done], n);
		if (put != GJ_PUT_OK)
			break;
	}
	if (put == GJ_PUT_OK)
		writer->rows += n;
	else
		for (; done >= 0; done--)
			forget_rows(&writer->columns[done], writer->rows, nulls[done],
						heaps[done], n);
	return put;
}

bool
gj_writer_append_row(GjWriter *writer, const GjVector *vectors)
{
	for (int attempt = 0;; attempt++)
	{
		GjPut		put = gj_writer_append(writer, vectors, 1);

		if (put == GJ_PUT_OK || put == GJ_PUT_FAILED)
		{
			writer->may_wait = false;
			return put == GJ_PUT_OK;
		}
		if (attempt > 1)
			return gj_fail(writer->extents->conn, "a row does not fit an extent");

		/*
		 * In an empty batch a row with chained values cannot be too long any
		 * more, so that no value is chained twice.
		 */
		if (!gj_writer_next_batch(writer))
			return false;
		writer->may_wait = put == GJ_PUT_CHAIN;
	}
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
