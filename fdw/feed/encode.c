/*
 * feed/encode.c - encodes the values of one column, with a loop per encoding.
 *
 * The feed's speed depends on the loops over fixed-width words.  They only
 * read through an array of pointers and write one dense array.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "utils/memutils.h"

#include "compat.h"
#include "feed/writer.h"
#include "job/key_forms.h"
#include "numeric/decimal.h"

/* An interval's span, which is aligned to 8 bytes only. */
typedef struct Span
{
	char		bytes[sizeof(__int128)];
} Span;

static inline void
set_null(GjColumnWriter *column, uint32 row, uint32 capacity)
{
	if (column->nulls++ == 0)
		memset(column->validity, 0xff, (capacity + 7) / 8);
	column->validity[row >> 3] &= ~(1 << (row & 7));
}

#define COPY_WORDS(type) \
	do { \
		type	   *to = (type *) column->values + first; \
		uint32		offset = vector->offset; \
		if (!vector->nullable) \
			for (int i = 0; i < n; i++) \
				to[i] = *(const type *) (pointers[i] + offset); \
		else \
			for (int i = 0; i < n; i++) \
			{ \
				if (pointers[i] != NULL) \
					to[i] = *(const type *) (pointers[i] + offset); \
				else \
				{ \
					to[i] = 0; \
					set_null(column, first + i, writer->capacity); \
				} \
			} \
	} while (0)

static void
copy_bytes(GjWriter *writer, GjColumnWriter *column, const GjVector *vector, int n)
{
	uint32		first = writer->rows;
	int			width = column->column->width;
	int			length = column->length;
	char	   *to = column->values + (Size) first * width;

	for (int i = 0; i < n; i++, to += width)
	{
		const char *from = vector->pointers[i];

		if (from == NULL)
		{
			memset(to, 0, width);
			set_null(column, first + i, writer->capacity);
			continue;
		}
		memcpy(to, from + vector->offset, length);
		memset(to + length, 0, width - length);
	}
}

/* One canonical value for each that is not NULL; from points to the value. */
#define COPY_KEYS(type, write) \
	do { \
		type	   *to = (type *) column->values + first; \
		for (int i = 0; i < n; i++) \
		{ \
			const char *from = pointers[i]; \
			if (from == NULL) \
			{ \
				memset(&to[i], 0, sizeof(type)); \
				set_null(column, first + i, writer->capacity); \
				continue; \
			} \
			from += vector->offset; \
			write; \
		} \
	} while (0)

/* Is the value stored inline and uncompressed? */
static inline bool
is_plain(const char *value)
{
	return VARATT_IS_4B_U(value) || (VARATT_IS_1B(value) && !VARATT_IS_1B_E(value));
}

/*
 * Returns the value inline and uncompressed, in scratch memory if it was
 * neither.
 */
static inline const char *
plain_varlena(GjWriter *writer, const char *value)
{
	MemoryContext old;

	if (likely(is_plain(value)))
		return value;
	old = MemoryContextSwitchTo(writer->scratch);
	value = (const char *) pg_detoast_datum_packed((struct varlena *) value);
	MemoryContextSwitchTo(old);
	return value;
}

/*
 * Converts one numeric of any form.  wide: it may have fewer decimals than the
 * column's scale, and if it does not fit, that is no fault of the table.
 */
static pg_noinline bool
copy_any_numeric(GjWriter *writer, GjColumnWriter *column, const char *value, bool wide,
				 int64 *to)
{
	int			scale = column->column->scale;

	value = plain_varlena(writer, value);
	if (likely(wide ?
			   gj_numeric_to_wider(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), scale, to) :
			   gj_numeric_to_decimal(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), scale, to)))
		return true;
	writer->unfit |= wide;
	if (wide)
		return gj_fail(writer->extents->conn,
					   "a numeric value has more than %d decimals or 18 digits", scale);
	return gj_fail(writer->extents->conn,
				   "a numeric value does not fit its declared precision and scale");
}

/* Numerics as integers. */
static pg_attribute_always_inline int
copy_numerics(GjWriter *writer, GjColumnWriter *column, const GjVector *vector,
			  int n, bool wide, bool nullable, GjPut *why)
{
	const char *const *pointers = vector->pointers;
	uint32		offset = vector->offset;
	uint32		first = writer->rows;
	int64	   *to = (int64 *) column->values + first;

	for (int i = 0; i < n; i++)
	{
		const char *value = pointers[i];

		if (nullable && value == NULL)
		{
			to[i] = 0;
			set_null(column, first + i, writer->capacity);
		}
		else if (unlikely(!gj_quick_numeric(&column->numeric, wide, value + offset, &to[i])) &&
				 !copy_any_numeric(writer, column, value + offset, wide, &to[i]))
		{
			*why = GJ_PUT_FAILED;
			return i;
		}
	}
	return n;
}

/* The numbers of decimals of numerics. */
static void
copy_scales(GjWriter *writer, GjColumnWriter *column, const GjVector *vector, int n)
{
	uint32		first = writer->rows;
	int16	   *to = (int16 *) column->values + first;

	for (int i = 0; i < n; i++)
	{
		const char *value = vector->pointers[i];

		to[i] = 0;
		if (value == NULL)
		{
			set_null(column, first + i, writer->capacity);
			continue;
		}
		value = plain_varlena(writer, value + vector->offset);
		to[i] = gj_numeric_scale(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	}
}

/* Appends a varlena with these bytes and a new header to the heap. */
static inline GjPut
put_varlena(GjColumnWriter *column, const char *data, uint32 length, bool packable)
{
	bool		small = packable && length + VARHDRSZ_SHORT <= VARATT_SHORT_MAX;
	uint32		size = length + (small ? VARHDRSZ_SHORT : VARHDRSZ);
	uint32		padded = TYPEALIGN(column->column->align, size);
	char	   *to = column->heap + column->heap_used;

	if (unlikely(column->heap_size - column->heap_used < padded))
		return GJ_PUT_FULL;

	/* zero the last word, whose unused bytes are the padding */
	memset(to + padded - column->column->align, 0, column->column->align);
	if (small)
	{
		SET_VARSIZE_SHORT(to, size);
		memcpy(to + VARHDRSZ_SHORT, data, length);
	}
	else
	{
		SET_VARSIZE(to, size);
		memcpy(to + VARHDRSZ, data, length);
	}
	column->heap_used += padded;
	return GJ_PUT_OK;
}

/*
 * Writes a plain value to the chain, with a header of four bytes.  The value may have
 * a short header: if many columns share a batch, even short values lack room in it.
 */
static bool
write_chain(GjWriter *writer, GjColumnWriter *column, const char *value)
{
	MemoryContext old = MemoryContextSwitchTo(writer->scratch);
	struct varlena *whole = pg_detoast_datum((struct varlena *) value);
	bool		ok;

	MemoryContextSwitchTo(old);
	ok = gj_chain_write(writer->extents, writer->chain, writer->participant,
						(const char *) whole, VARSIZE(whole), &column->ref);
	writer->total_bytes += VARSIZE(whole);
	if ((const char *) whole != value)
		pfree(whole);
	return ok;
}

/*
 * Appends the reference to a plain value that was chained already or is chained now.
 */
static GjPut
put_chain(GjWriter *writer, GjColumnWriter *column, const char *value)
{
	uint32		padded = TYPEALIGN(column->column->align, sizeof(column->ref));
	char	   *to = column->heap + column->heap_used;

	if (column->heap_size - column->heap_used < padded)
		return GJ_PUT_FULL;
	if (!column->chained)
	{
		if (!write_chain(writer, column, value))
			return GJ_PUT_FAILED;
		column->chained = true;
	}
	memset(to, 0, padded);
	memcpy(to, &column->ref, sizeof(column->ref));
	column->heap_used += padded;
	return GJ_PUT_OK;
}

/* The canonical form of a numeric key, in scratch memory if it is long. */
static const char *
numeric_key(GjWriter *writer, const char *data, uint32 *length, char *buffer,
			uint32 buffer_size)
{
	if (*length + 4 > buffer_size)
		buffer = MemoryContextAlloc(writer->scratch, *length + 4);
	*length = gj_numeric_canonical(data, *length, buffer);
	return buffer;
}

/* Appends a name that is not NULL, without the bytes that pad it. */
static GjPut
put_name(GjColumnWriter *column, const char *value)
{
	return put_varlena(column, value, strnlen(value, NAMEDATALEN), true);
}

/* Appends a value that is not NULL. */
static inline GjPut
put_value(GjWriter *writer, GjColumnWriter *column, const char *value)
{
	const char *plain;
	const char *data;
	uint32		length;
	char		buffer[128];
	GjPut		put;

	/* do not detoast a value to be chained before it can be chained */
	if (unlikely(!is_plain(value)) && !writer->may_wait && !column->column->is_key &&
		toast_raw_datum_size(PointerGetDatum(value)) > column->inline_limit)
		return GJ_PUT_CHAIN;
	plain = plain_varlena(writer, value);
	data = VARDATA_ANY(plain);
	length = VARSIZE_ANY_EXHDR(plain);
	if (column->copy == GJ_COPY_BPCHAR_KEY)
		while (length > 0 && data[length - 1] == ' ')
			length--;
	else if (column->copy == GJ_COPY_NUMERIC_KEY)
		data = numeric_key(writer, data, &length, buffer, sizeof(buffer));

	if (likely(length <= column->inline_limit - VARHDRSZ))
		put = put_varlena(column, data, length, column->packable);
	else if (column->column->is_key)
	{
		gj_fail(writer->extents->conn,
				"a key value of %u bytes exceeds the maximum of %u bytes for this join",
				length, (uint32) (column->inline_limit - VARHDRSZ));
		writer->unfit = true;
		put = GJ_PUT_FAILED;
	}
	else
		put = writer->may_wait ? put_chain(writer, column, plain) : GJ_PUT_CHAIN;
	if (unlikely(plain != value))
		pfree(unconstify(char *, plain));
	return put;
}

static int
copy_varlena(GjWriter *writer, GjColumnWriter *column, const GjVector *vector,
			 int n, GjPut *why)
{
	uint32		first = writer->rows;
	uint32	   *offsets = (uint32 *) column->values;

	for (int i = 0; i < n; i++)
	{
		const char *value;

		i = gj_encode_short(writer, column, vector, i, n);
		if (i == n)
			break;
		value = vector->pointers[i];
		if (value == NULL)
			set_null(column, first + i, writer->capacity);
		else
		{
			GjPut		put = column->copy == GJ_COPY_NAME_KEY ?
				put_name(column, value + vector->offset) :
				put_value(writer, column, value + vector->offset);

			if (unlikely(put != GJ_PUT_OK))
			{
				*why = put;
				return i;
			}
		}
		offsets[first + i + 1] = column->heap_used;
	}
	return n;
}

uint32
gj_encoded_size(const GjColumnWriter *column, const GjVector *vector)
{
	const char *value = vector->pointers[0];
	Size		size;

	if (value == NULL)
		return 0;
	if (column->copy == GJ_COPY_NAME_KEY)
		return TYPEALIGN(column->column->align, VARHDRSZ + NAMEDATALEN);
	size = toast_raw_datum_size(PointerGetDatum(value + vector->offset));
	if (column->copy == GJ_COPY_NUMERIC_KEY)
		size += sizeof(uint32);
	if (size > column->inline_limit)
		/* a key is never chained, and may be shorter without its blanks */
		size = column->column->is_key ? column->inline_limit : sizeof(struct gj_chain_ref);
	return TYPEALIGN(column->column->align, size);
}

int
gj_encode(GjWriter *writer, GjColumnWriter *column, const GjVector *vector, int n,
		  GjPut *why)
{
	const char *const *pointers = vector->pointers;
	uint32		first = writer->rows;

	switch (column->copy)
	{
		case GJ_COPY_1:
			COPY_WORDS(uint8);
			return n;
		case GJ_COPY_2:
			COPY_WORDS(uint16);
			return n;
		case GJ_COPY_4:
			COPY_WORDS(uint32);
			return n;
		case GJ_COPY_8:
			COPY_WORDS(uint64);
			return n;
		case GJ_COPY_BYTES:
			copy_bytes(writer, column, vector, n);
			return n;
		case GJ_COPY_FLOAT4_KEY:
			COPY_KEYS(int64, to[i] = gj_float_key(*(const float4 *) from));
			return n;
		case GJ_COPY_FLOAT8_KEY:
			COPY_KEYS(int64, to[i] = gj_float_key(*(const float8 *) from));
			return n;
		case GJ_COPY_FLOAT4_ORDER:
			COPY_KEYS(int64, to[i] = gj_float_order(*(const float4 *) from));
			return n;
		case GJ_COPY_FLOAT8_ORDER:
			COPY_KEYS(int64, to[i] = gj_float_order(*(const float8 *) from));
			return n;
		case GJ_COPY_DATE_KEY:
			COPY_KEYS(int64, to[i] = gj_date_key(*(const DateADT *) from));
			return n;
		case GJ_COPY_INTERVAL_KEY:
			COPY_KEYS(Span, gj_interval_key((const Interval *) from, to[i].bytes));
			return n;
		case GJ_COPY_DECIMAL:
			return vector->nullable ?
				copy_numerics(writer, column, vector, n, false, true, why) :
				copy_numerics(writer, column, vector, n, false, false, why);
		case GJ_COPY_UNSCALED:
			return copy_numerics(writer, column, vector, n, true, true, why);
		case GJ_COPY_SCALE:
			copy_scales(writer, column, vector, n);
			return n;
		case GJ_COPY_VARLENA:
		case GJ_COPY_NUMERIC_KEY:
		case GJ_COPY_BPCHAR_KEY:
		case GJ_COPY_NAME_KEY:
			return copy_varlena(writer, column, vector, n, why);
	}
	pg_unreachable();
}
