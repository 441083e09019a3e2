/*
 * filter.c - tries feed_keys.c: the input is the kind of filter that the daemon
 * announces, a number of keys, the keys, and the extent with the filter.  The
 * result has a bit for each key that passes, and bit 63 if the filter was taken.
 */
#include "server.h"

#include "../../../fdw/feed_keys.h"

#define MOST_KEYS 60

uint64
try_input(const uint8 *data, size_t size)
{
	GjColumn	column = {.form = GJ_FORM_VALUE, .width = sizeof(int64)};
	GjKeyFilter filter = {.column = &column};
	const char *pointers[MOST_KEYS];
	GjVector	vector = {.pointers = pointers, .nullable = true};
	uint16		kept[MOST_KEYS];
	uint32		head[2];
	uint64		result = UINT64_C(1) << 63;
	size_t		start;
	int			n;

	if (size < sizeof(head))
		return 0;
	memcpy(head, data, sizeof(head));
	start = sizeof(head) + (size_t) head[1] * sizeof(int64);
	if (head[1] > MOST_KEYS || start > size)
		return 0;
	for (uint32 i = 0; i < head[1]; i++)
		pointers[i] = (const char *) data + sizeof(head) + i * sizeof(int64);
	if (!gj_key_filter_read(&filter, (const char *) data + start, size - start, head[0]))
		return 0;
	n = gj_key_filter_select(&filter, &vector, head[1], kept);
	for (int i = 0; i < n; i++)
		result |= UINT64_C(1) << kept[i];
	return result;
}
