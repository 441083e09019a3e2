/*
 * filter.c - tries feed/key_filter.c: the input is the kind of filter that the daemon
 * announces, how values become keys, a number of keys, 4 bytes, for each key its
 * length in 8 bytes and its bytes padded to a multiple of 8, and the extent with
 * the filter.  The result has a bit for each key that passes, and bit 63 if the
 * filter was taken.
 */
#include "server.h"

#include "../../../fdw/feed/key_filter.h"

#define MOST_KEYS 60
#define MOST_BYTES 2000

/* A column of this kind. */
static GjColumn
column_of(GjCopy copy)
{
	switch (copy)
	{
		case GJ_COPY_8:
			return (GjColumn) {.encoding = GJ_ENC_FIXED, .width = sizeof(int64)};
		case GJ_COPY_BYTES:
			return (GjColumn) {.encoding = GJ_ENC_FIXED, .width = 16};
		default:
			return (GjColumn) {.encoding = GJ_ENC_VARLENA};
	}
}

uint64
try_input(const uint8 *data, size_t size)
{
	GjColumn	column;
	GjKeyFilter filter = {.column = &column};
	int64		values[MOST_KEYS][MOST_BYTES / sizeof(int64) + 1];
	const char *pointers[MOST_KEYS];
	GjVector	vector = {.pointers = pointers, .nullable = true};
	uint16		kept[MOST_KEYS];
	uint32		head[4];
	uint64		result = UINT64_C(1) << 63;
	size_t		at = sizeof(head);
	int			n;

	if (size < sizeof(head))
		return 0;
	memcpy(head, data, sizeof(head));
	filter.copy = (GjCopy) head[1];
	filter.length = 16;
	if (head[2] > MOST_KEYS ||
		(filter.copy != GJ_COPY_8 && filter.copy != GJ_COPY_BYTES &&
		 filter.copy != GJ_COPY_VARLENA && filter.copy != GJ_COPY_BPCHAR_KEY))
		return 0;
	column = column_of(filter.copy);
	for (uint32 i = 0; i < head[2]; i++)
	{
		uint64		length;
		char	   *value = (char *) values[i];

		if (size - at < sizeof(length))
			return 0;
		memcpy(&length, data + at, sizeof(length));
		at += sizeof(length);
		if (length > MOST_BYTES || size - at < TYPEALIGN(8, length) ||
			(column.encoding == GJ_ENC_FIXED && length != (uint64) column.width))
			return 0;

		/* both forms of a header, the short one at any address */
		if (column.encoding == GJ_ENC_FIXED)
			memcpy(value, data + at, length);
		else if (length + VARHDRSZ_SHORT <= VARATT_SHORT_MAX && i % 2 == 0)
		{
			value += i / 2 % VARHDRSZ;
			SET_VARSIZE_SHORT(value, length + VARHDRSZ_SHORT);
			memcpy(value + VARHDRSZ_SHORT, data + at, length);
		}
		else
		{
			SET_VARSIZE(value, length + VARHDRSZ);
			memcpy(value + VARHDRSZ, data + at, length);
		}
		pointers[i] = value;
		at += TYPEALIGN(8, length);
	}
	if (!gj_key_filter_read(&filter, (const char *) data + at, size - at, head[0]))
		return 0;
	n = gj_key_filter_select(&filter, &vector, head[2], kept);
	for (int i = 0; i < n; i++)
		result |= UINT64_C(1) << kept[i];
	return result;
}
