/*
 * feed/layout.c - where the columns of a batch are in its extent.
 *
 * A batch has for each column an array of values and a validity bitmap, and
 * for a varlena column also a heap.  Their sizes follow the expected widths.
 * The first batch takes these from the statistics, every later one from the
 * batch before it. If the rows differ from what was expected, the batch is not
 * handed over half empty.  Instead, the arrays are moved within the extent to
 * positions that suit the rows seen so far, until the extent is nearly full.
 */
#include "postgres.h"

#include "feed/writer.h"

#define ALIGN64(n) TYPEALIGN64(64, (n))

/* Upper bound of the rows in a batch. */
#define MOST_ROWS (1 << 24)

/* An extent counts as full if less than 1/FREE_SHARE of it is free. */
#define FREE_SHARE 8

/*
 * Upper bound of the bytes moved per batch, in extents.  Rows whose widths
 * keep changing do not justify more.
 */
#define MOST_MOVES 4

/* A move counts as at least 1/LEAST_MOVE of an extent. */
#define LEAST_MOVE 64

/* Bits per row in the arrays, excluding the heaps. */
static double
array_bits(const GjWriter *writer)
{
	double		bits = 0;

	for (int i = 0; i < writer->ncolumns; i++)
		bits += 1 + 8.0 * gj_item_size(&writer->columns[i]);
	return bits;
}

/* Expected bits per row in the heaps. */
static double
heap_bits(const GjWriter *writer)
{
	double		bits = 0;

	for (int i = 0; i < writer->ncolumns; i++)
		if (gj_is_varlena(&writer->columns[i]))
			bits += 8 * writer->columns[i].width;
	return bits;
}

double
gj_layout_row_bits(const GjWriter *writer)
{
	return array_bits(writer) + heap_bits(writer);
}

Size
gj_layout_bytes(const GjWriter *writer)
{
	Size		bytes = sizeof(struct gj_batch) +
		writer->ncolumns * sizeof(struct gj_column) +
		writer->nvarlena * sizeof(uint32) +
		(Size) (writer->rows * array_bits(writer) / 8);

	for (int i = 0; i < writer->ncolumns; i++)
		bytes += writer->columns[i].heap_used;
	return bytes;
}

/*
 * Records an array's current and future position.  Returns the end of the
 * latter.
 */
static Size
plan_move(GjWriter *writer, GjMove *move, char *from, Size bytes, Size at, Size place)
{
	move->from = from;
	move->to = writer->extent.base + at;
	move->bytes = bytes;
	return ALIGN64(at + place);
}

/*
 * Moves all arrays.  They have the same order before and after.  Arrays that
 * move up are moved first, from the last to the first; then those that move
 * down, from the first to the last.  So no array is overwritten before it is
 * moved.
 */
static void
move_arrays(GjWriter *writer)
{
	int			n = 3 * writer->ncolumns;

	for (int i = n - 1; i >= 0; i--)
		if (writer->moves[i].to > writer->moves[i].from)
			memmove(writer->moves[i].to, writer->moves[i].from, writer->moves[i].bytes);
	for (int i = 0; i < n; i++)
		if (writer->moves[i].to < writer->moves[i].from)
			memmove(writer->moves[i].to, writer->moves[i].from, writer->moves[i].bytes);
}

/* Each array may lose up to 63 bytes to alignment. */
bool
gj_layout_place(GjWriter *writer)
{
	uint32		least = writer->rows + 1;
	Size		head = ALIGN64(sizeof(struct gj_batch) +
							   writer->ncolumns * sizeof(struct gj_column));
	Size		taken = head + (2 * writer->ncolumns + writer->nvarlena) * 64 +
		writer->nvarlena * sizeof(uint32) +
		(Size) (least * array_bits(writer) / 8) + 1;
	Size		at = head;
	uint32		capacity;

	for (int i = 0; i < writer->ncolumns; i++)
		taken += writer->columns[i].heap_used + writer->columns[i].needs;
	if (taken > writer->extents->size)
		return false;
	capacity = (uint32) Min(MOST_ROWS, least + (writer->extents->size - taken) * 8.0 /
							Max(1, gj_layout_row_bits(writer)));
	if (capacity < least)
		return false;

	for (int i = 0; i < writer->ncolumns; i++)
	{
		GjColumnWriter *c = &writer->columns[i];
		GjMove	   *move = &writer->moves[3 * i];
		bool		varlena = gj_is_varlena(c);

		at = plan_move(writer, &move[0], c->values,
					   ((Size) writer->rows + varlena) * gj_item_size(c),
					   at, ((Size) capacity + varlena) * gj_item_size(c));
		at = plan_move(writer, &move[1], (char *) c->validity,
					   c->nulls > 0 ? (writer->rows + 7) / 8 : 0,
					   at, (capacity + 7) / 8);
		c->heap_size = varlena ?
			c->heap_used + c->needs + (uint32) ((capacity - least) * c->width) : 0;
		at = plan_move(writer, &move[2], c->heap, c->heap_used, at, c->heap_size);
	}
	Assert(at <= ALIGN64(writer->extents->size));
	if (writer->rows > 0)
		move_arrays(writer);
	writer->capacity = capacity;
	writer->rows_placed = writer->rows;
	for (int i = 0; i < writer->ncolumns; i++)
	{
		GjColumnWriter *c = &writer->columns[i];

		c->values = writer->moves[3 * i].to;
		c->validity = (uint8 *) writer->moves[3 * i + 1].to;
		c->heap = writer->moves[3 * i + 2].to;
		c->heap_placed = c->heap_used;
		if (c->nulls > 0)
			memset(c->validity + (writer->rows + 7) / 8, 0xff,
				   (capacity + 7) / 8 - (writer->rows + 7) / 8);
		if (writer->rows == 0 && gj_is_varlena(c))
			((uint32 *) c->values)[0] = 0;
	}
	return true;
}

/*
 * Updates the expected widths from the rows of this batch: the mean of the
 * average over all rows and the average over those since the arrays were
 * placed.  The latter reveals that rows of another kind have begun.  The
 * current row is included.
 */
static void
expect_widths(GjWriter *writer)
{
	for (int i = 0; i < writer->ncolumns; i++)
	{
		GjColumnWriter *c = &writer->columns[i];
		double		all = (c->heap_used + c->needs) / (writer->rows + 1.0);
		double		recent = (c->heap_used - c->heap_placed + c->needs) /
			(writer->rows - writer->rows_placed + 1.0);

		if (!gj_is_varlena(c))
			continue;
		if (writer->rows == 0)
			recent = c->width;
		c->width = (all + recent) / 2 * 1.02 + 0.1;
	}
}

bool
gj_layout_make_room(GjWriter *writer, const GjVector *vectors)
{
	Size		size = writer->extents->size;
	Size		used;
	bool		ok;

	if (writer->extent.base == NULL)
		return false;
	used = gj_layout_bytes(writer);
	writer->moved += used + size / LEAST_MOVE;
	if (used > size - size / FREE_SHARE || writer->moved > MOST_MOVES * size)
		return false;
	for (int i = 0; i < writer->ncolumns; i++)
		if (gj_is_varlena(&writer->columns[i]))
			writer->columns[i].needs = gj_encoded_size(&writer->columns[i], &vectors[i]);
	expect_widths(writer);
	ok = gj_layout_place(writer);
	for (int i = 0; i < writer->ncolumns; i++)
		writer->columns[i].needs = 0;
	return ok;
}
