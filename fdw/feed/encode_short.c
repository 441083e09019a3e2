/*
 * feed/encode_short.c - encodes short values of variable length.
 *
 * Most texts on a page have a header of one byte.  They are copied in blocks of
 * fixed size, which is faster than a call for as many bytes as each has.
 */
#include "postgres.h"

#include "compat.h"				/* headers of varlena, from 16 on */
#include "feed/writer.h"

#define BLOCK 16
#define LONGEST VARATT_SHORT_MAX	/* of a value, with its header */
#define READ TYPEALIGN(BLOCK, LONGEST)	/* bytes read of the longest value */
#define PADDING 8				/* at most, and as zeros */

#define BLANKS UINT64CONST(0x2020202020202020)

/* The length of a char(n) without the blanks at its end. */
static inline uint32
without_blanks(const char *data, uint32 length)
{
	uint64		word;

	while (length >= sizeof(word))
	{
		memcpy(&word, data + length - sizeof(word), sizeof(word));
		if (word != BLANKS)
			return length - __builtin_clzll(word ^ BLANKS) / 8;
		length -= sizeof(word);
	}
	while (length > 0 && data[length - 1] == ' ')
		length--;
	return length;
}

static inline void
copy_block(char *to, const char *from)
{
	memcpy(to, from, BLOCK);
}

/* The caller passes blanks as a constant: are those at the end left out? */
static pg_attribute_always_inline int
encode(const GjWriter *writer, GjColumnWriter *column, const GjVector *vector, int from,
	   int n, bool blanks)
{
	const char *const *pointers = vector->pointers;
	uint32		offset = vector->offset;
	uint32		align = column->column->align;
	uint32	   *ends = (uint32 *) column->values + writer->rows + 1;
	uint32		used = column->heap_used;
	int			i;

	for (i = from; i < n; i++)
	{
		const char *value = pointers[i];
		char	   *to = column->heap + used;
		uint32		size;

		if (value == NULL)
			break;
		value += offset;

		/* whole blocks are read, but not on another page of memory */
		if (unlikely(!VARATT_IS_1B(value) || VARATT_IS_1B_E(value) ||
					 ((uintptr_t) value & 4095) > 4096 - READ ||
					 column->heap_size - used < READ + PADDING))
			break;
		size = VARSIZE_1B(value);
		copy_block(to, value);
		if (size > BLOCK)
			copy_block(to + BLOCK, value + BLOCK);
		for (uint32 done = 2 * BLOCK; unlikely(done < size); done += BLOCK)
			copy_block(to + done, value + done);
		if (blanks)
		{
			size = VARHDRSZ_SHORT + without_blanks(value + VARHDRSZ_SHORT,
												   size - VARHDRSZ_SHORT);
			SET_VARSIZE_SHORT(to, size);
		}
		memset(to + size, 0, PADDING);
		used += TYPEALIGN(align, size);
		ends[i] = used;
	}
	column->heap_used = used;
	return i;
}

int
gj_encode_short(const GjWriter *writer, GjColumnWriter *column, const GjVector *vector,
				int from, int n)
{
	if (!column->packable || column->inline_limit < LONGEST + VARHDRSZ)
		return from;
	switch (column->copy)
	{
		case GJ_COPY_VARLENA:
			return encode(writer, column, vector, from, n, false);
		case GJ_COPY_BPCHAR_KEY:
			return encode(writer, column, vector, from, n, true);
		default:
			return from;
	}
}
