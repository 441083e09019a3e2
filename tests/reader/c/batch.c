/*
 * batch.c - tries result/reader.c, result/long_values.c and numeric/decimal.c: the input is what the
 * daemon sends while rows are read.  It consists of pieces, each of them 4
 * bytes of length and then that number of bytes.  A piece is taken for a frame (2 bytes of
 * type, 2 bytes that say how many descriptors come with it, a body) or for the
 * extent that the next descriptor leads to, whichever is needed next.  Extents
 * are memory of exactly their size, so that whoever reads on is noticed.
 *
 * The result is how many rows were read, in bit 31 whether they came to a
 * proper end, and above that a checksum of their values.
 */
#include "server.h"

#include <stdlib.h>

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "../../../fdw/compat.h"
#include "../../../fdw/numeric/decimal.h"
#include "../../../fdw/result/result.h"

#define EXTENT_SIZE 8192

static const uint8 *rest;
static size_t rest_size;

static bool
next_piece(const uint8 **piece, uint32 *size)
{
	if (rest_size < sizeof(*size))
		return false;
	memcpy(size, rest, sizeof(*size));
	if (*size > rest_size - sizeof(*size))
		return false;
	*piece = rest + sizeof(*size);
	rest += sizeof(*size) + *size;
	rest_size -= sizeof(*size) + *size;
	return true;
}

/* ---- what result/reader.c and result/long_values.c call ---- */

bool
gj_fail(GjConnection *conn, const char *format,...)
{
	conn->failure[0] = '!';
	return false;
}

bool
gj_send(GjConnection *conn, enum gj_message type, const void *body, uint32 length,
		const void *tail, uint32 tail_length)
{
	return true;
}

bool
gj_link_receive(GjLink *link, int timeout_ms)
{
	GjConnection *conn = &link->conn;
	const uint8 *piece;
	uint32		size;
	uint16		head[2];

	if (!next_piece(&piece, &size) || size < sizeof(head))
		return gj_fail(conn, "the end");
	memcpy(head, piece, sizeof(head));
	conn->frame.type = head[0];
	conn->frame.length = size - sizeof(head);
	conn->nfds = Min(head[1], GJ_FRAME_MAX_FDS);
	if (conn->body != NULL)
		pfree(conn->body);
	conn->body = palloc(conn->frame.length);
	memcpy(conn->body, piece + sizeof(head), conn->frame.length);
	return true;
}

int
gj_take_fd(GjConnection *conn, int i)
{
	return i;
}

bool
gj_extent_map(GjExtents *extents, int fd, uint64 id, bool writable, GjExtent *extent)
{
	const uint8 *piece;
	uint32		size;

	if (!next_piece(&piece, &size))
		return gj_fail(extents->conn, "the end");
	extent->id = id;
	extent->base = palloc0(EXTENT_SIZE);
	memcpy(extent->base, piece, Min(size, EXTENT_SIZE));
	return true;
}

bool
gj_extent_release(GjExtents *extents, GjExtent *extent)
{
	pfree(extent->base);
	extent->base = NULL;
	return true;
}

void
gj_extent_touch(GjExtent *extent, Size offset, Size length, bool writable)
{
}

void
get_typlenbyval(Oid type, int16 *length, bool *by_value)
{
	*length = type == BOOLOID ? 1 : type == INT2OID ? 2 : type == INT4OID ? 4 : type == INT8OID ? 8 :
		type == UUIDOID ? 16 : NAMEDATALEN;
	*by_value = *length <= 8;
}

Oid
getBaseType(Oid type)
{
	return type;
}

/* ---- rows ---- */

#define FIXED(oid, bytes, alignment) \
	{.type = (oid), .encoding = GJ_ENC_FIXED, .width = (bytes), .align = (alignment)}

/* The Go side has the same list. */
static GjColumn columns[] = {
	FIXED(INT8OID, 8, 8), FIXED(INT4OID, 4, 4), FIXED(INT2OID, 2, 2), FIXED(BOOLOID, 1, 1),
	FIXED(UUIDOID, 16, 1), FIXED(NAMEOID, NAMEDATALEN, 1),
	{.type = TEXTOID, .encoding = GJ_ENC_VARLENA, .align = 4},
	{.type = NUMERICOID, .form = GJ_FORM_DECIMAL, .encoding = GJ_ENC_FIXED, .width = 8, .align = 8, .scale = 2},
};

static uint32
hash(uint32 sum, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ ((const uint8 *) bytes)[i]) * 16777619;	/* FNV-1a */
	return sum;
}

/* A value lies where its offsets say, unless it was chained. */
static void
check_place(const GjColumnReader *c, uint32 row, const char *value)
{
	const uint32 *offsets = (const uint32 *) c->values;

	if (value != c->chained &&
		(value != c->heap + offsets[row] || offsets[row + 1] > c->heap_len ||
		 VARSIZE_ANY(value) > offsets[row + 1] - offsets[row]))
		abort();
}

static uint32
hash_value(uint32 sum, const GjColumnReader *c, uint32 row, Datum value)
{
	const void *pointer = DatumGetPointer(value);

	switch (c->value)
	{
		case GJ_VALUE_1:
		case GJ_VALUE_2:
		case GJ_VALUE_4:
		case GJ_VALUE_8:
			return hash(sum, &value, c->column->width);
		case GJ_VALUE_BYTES:
			return hash(sum, pointer, c->column->width);
		case GJ_VALUE_NAME:
			return hash(sum, pointer, strlen(pointer));
		case GJ_VALUE_VARLENA:
			check_place(c, row, pointer);
			return hash(sum, VARDATA_ANY(pointer), VARSIZE_ANY_EXHDR(pointer));
		case GJ_VALUE_DECIMAL:
			/* its bytes are numeric/decimal.c's affair: read them, no more */
			(void) hash(sum, pointer, VARSIZE_ANY(pointer));
			return sum;
	}
	return sum;
}

uint64
try_input(const uint8 *data, size_t size)
{
	GjOutput	outputs[lengthof(columns)];
	GjInput		input = {.ncolumns = lengthof(columns), .columns = columns};
	GjPlan		plan = {.ninputs = 1, .inputs = &input, .noutputs = lengthof(columns), .outputs = outputs};
	GjLink		link = {.extents = {.conn = &link.conn, .size = EXTENT_SIZE}};
	Datum		values[lengthof(columns)];
	bool		isnull[lengthof(columns)];
	GjReader	reader;
	GjRead		read;
	uint32		rows = 0;
	uint32		sum = 2166136261;

	for (int i = 0; i < (int) lengthof(columns); i++)
		outputs[i] = (GjOutput) {.input = 0, .column = i};
	rest = data;
	rest_size = size;
	gj_reader_init(&reader, &link, &plan);
	(void) gj_reader_start(&reader);
	while ((read = gj_reader_next(&reader, values, isnull)) == GJ_READ_ROW)
	{
		rows++;
		for (int i = 0; i < (int) lengthof(columns); i++)
			sum = isnull[i] ? hash(sum, "\xff", 1) :
				hash_value(sum, &reader.columns[i], reader.row - 1, values[i]);
	}
	if ((read == GJ_READ_FAILED) != (link.conn.failure[0] != '\0'))
		abort();
	(void) gj_reader_stop(&reader);
	return (uint64) sum << 32 | (uint64) (read == GJ_READ_END) << 31 | (rows & PG_INT32_MAX);
}
