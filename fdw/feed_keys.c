/*
 * feed_keys.c - tests rows of an input against a filter of another one's keys.
 *
 * A row whose key is not in the filter has no partner, so it is not fed.  The
 * test comes before the row's other columns are copied, which costs more.
 */
#include "postgres.h"

#include "access/htup_details.h"

#include "feed_keys.h"
#include "numeric_quick.h"

/*
 * A filter is useless where it drops less than 1/LEAST_DROPPED of WINDOW rows.
 * Then the next PAUSE rows are not tested.
 */
#define WINDOW 65536
#define PAUSE (4 * WINDOW)
#define LEAST_DROPPED 16

bool
gj_key_filter_read(GjKeyFilter *filter, const char *base, Size size, uint32 kind)
{
	struct gj_filter_header h;
	uint64		span;

	if (size < GJ_FILTER_DATA_OFF)
		return false;
	memcpy(&h, base, sizeof(h));
	if (h.magic != GJ_FILTER_MAGIC || h.version != GJ_LAYOUT_VERSION ||
		h.kind != kind || h.reserved != 0 ||
		(kind != GJ_FILTER_BITMAP && kind != GJ_FILTER_BLOOM) ||
		h.bytes % sizeof(uint64) != 0 || h.bytes > size - GJ_FILTER_DATA_OFF ||
		h.min > h.max || (h.bytes == 0) != (h.keys == 0))
		return false;
	span = (uint64) h.max - (uint64) h.min;
	if (kind == GJ_FILTER_BITMAP && h.keys > 0 && span >= (uint64) h.bytes * 8)
		return false;
	filter->kind = (enum gj_filter_kind) h.kind;
	filter->keys = h.keys;
	filter->min = h.min;
	filter->span = span;
	filter->seed = h.seed;
	filter->nwords = h.bytes / sizeof(uint64);
	filter->words = (const uint64 *) (base + GJ_FILTER_DATA_OFF);
	return true;
}

static inline bool
in_bitmap(const GjKeyFilter *filter, int64 key)
{
	uint64		at = (uint64) key - (uint64) filter->min;

	return at <= filter->span && ((filter->words[at / 64] >> (at % 64)) & 1) != 0;
}

static inline bool
in_bloom(const GjKeyFilter *filter, int64 key)
{
	uint64		h = ((uint64) key ^ filter->seed) * GJ_HASH_1;
	uint64		bits = 0;

	if ((uint64) key - (uint64) filter->min > filter->span)
		return false;
	h ^= h >> 32;
	h *= GJ_HASH_2;
	h ^= h >> 32;
	for (int i = 0; i < GJ_BLOOM_BITS; i++)
		bits |= UINT64_C(1) << ((h >> (6 * i)) & 63);
	return (filter->words[((h >> 32) * filter->nwords) >> 32] & bits) == bits;
}

/* Stores a decimal's integer.  Returns false if it has another form. */
static bool
load_decimal(const char *value, int scale, int64 *key)
{
	/* 18 digits are too short to be compressed or stored out of line */
	if (VARATT_IS_EXTENDED(value) && !VARATT_IS_SHORT(value))
		return false;
	return gj_numeric_to_decimal(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), scale, key);
}

/* Loads the keys of rows that are not NULL, and returns these rows' number. */
static int
load(const GjKeyFilter *filter, const GjVector *vector, int n, int64 *keys, uint16 *rows)
{
	const GjColumn *column = filter->column;
	const char *const *pointers = vector->pointers;
	uint32		offset = vector->offset;
	int			loaded = 0;

#define LOAD(type) \
	for (int i = 0; i < n; i++) \
		if (!vector->nullable || pointers[i] != NULL) \
		{ \
			rows[loaded] = i; \
			keys[loaded++] = *(const type *) (pointers[i] + offset); \
		}

	if (column->form == GJ_FORM_DECIMAL)
	{
		for (int i = 0; i < n; i++)
		{
			if (pointers[i] == NULL)
				continue;
			rows[loaded] = i;
			if (!gj_quick_numeric(&filter->numeric, false, pointers[i] + offset, &keys[loaded]) &&
				!load_decimal(pointers[i] + offset, column->scale, &keys[loaded]))
				return -1;
			loaded++;
		}
		return loaded;
	}
	switch (column->width)
	{
		case 1:
			LOAD(int8);
			return loaded;
		case 2:
			LOAD(int16);
			return loaded;
		case 4:
			LOAD(int32);
			return loaded;
		case 8:
			LOAD(int64);
			return loaded;
	}
	return -1;
#undef LOAD
}

/* Decides from the last window whether the next rows are worth testing. */
static void
look_back(GjKeyFilter *filter, int tested, int dropped)
{
	filter->tested += tested;
	filter->dropped += dropped;
	filter->window_tested += tested;
	filter->window_dropped += dropped;
	if (filter->window_tested < WINDOW)
		return;
	if (filter->window_dropped < filter->window_tested / LEAST_DROPPED)
		filter->pause = PAUSE;
	filter->window_tested = filter->window_dropped = 0;
}

int
gj_key_filter_select(GjKeyFilter *filter, const GjVector *vector, int n, uint16 *kept)
{
	int64		keys[MaxHeapTuplesPerPage];
	uint16		rows[MaxHeapTuplesPerPage];
	int			loaded;
	int			nkept = 0;

	if (filter->pause > 0)
	{
		filter->pause -= Min(filter->pause, (uint64) n);
		for (int i = 0; i < n; i++)
			kept[i] = i;
		return n;
	}
	loaded = load(filter, vector, n, keys, rows);
	if (loaded < 0)
		return -1;
	if (filter->keys == 0)
		loaded = 0;
	if (filter->kind == GJ_FILTER_BITMAP)
		for (int i = 0; i < loaded; i++)
		{
			kept[nkept] = rows[i];
			nkept += in_bitmap(filter, keys[i]);
		}
	else
		for (int i = 0; i < loaded; i++)
		{
			kept[nkept] = rows[i];
			nkept += in_bloom(filter, keys[i]);
		}
	look_back(filter, n, n - nkept);
	return nkept;
}
