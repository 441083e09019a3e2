/*
 * feed/key_filter.c - tests rows of an input against a filter of another one's keys.
 *
 * A row whose key is not in the filter has no partner, so it is not fed.  The
 * test comes before the row's other columns are copied, which costs more.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/lsyscache.h"

#include "daemon/connection.h"
#include "feed/key_filter.h"
#include "job/key_forms.h"
#include "numeric/decimal.h"

/*
 * A filter is useless where it drops less than 1/LEAST_DROPPED of WINDOW rows.
 * Then the next PAUSE rows are not tested.
 */
#define WINDOW 65536
#define PAUSE (4 * WINDOW)
#define LEAST_DROPPED 16

/* A numeric is made canonical to be tested if its key fits here. */
#define MOST_NUMERIC_BYTES 128

/* A uuid, a time with time zone or an interval is the longest fixed key. */
#define MOST_FIXED_BYTES 16

/* Is the key a hash of bytes? */
static bool
is_hashed(const GjKeyFilter *filter)
{
	return filter->column->encoding == GJ_ENC_VARLENA ||
		filter->column->width > (int) sizeof(int64);
}

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
		kind < GJ_FILTER_BITMAP || kind > GJ_FILTER_BLOOM_BYTES ||
		(kind == GJ_FILTER_BLOOM_BYTES) != is_hashed(filter) ||
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
	if (VARATT_IS_COMPRESSED(value) || VARATT_IS_EXTERNAL(value))
		return false;
	return gj_numeric_to_decimal(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), scale, key);
}

/* ---- keys that are hashes ---- */

/* The bytes of a value, as they are compared. */
typedef struct Bytes
{
	const char *data;
	uint32		length;
	char		buffer[MOST_NUMERIC_BYTES];
} Bytes;

/* A value that is stored inline and uncompressed. */
static inline bool
get_plain(const char *value, Bytes *bytes)
{
	if (VARATT_IS_COMPRESSED(value) || VARATT_IS_EXTERNAL(value))
		return false;
	bytes->data = VARDATA_ANY(value);
	bytes->length = VARSIZE_ANY_EXHDR(value);
	return true;
}

static inline bool
get_bpchar(const char *value, Bytes *bytes)
{
	if (!get_plain(value, bytes))
		return false;
	while (bytes->length > 0 && bytes->data[bytes->length - 1] == ' ')
		bytes->length--;
	return true;
}

static inline bool
get_numeric(const char *value, Bytes *bytes)
{
	if (!get_plain(value, bytes) || bytes->length + sizeof(uint32) > MOST_NUMERIC_BYTES)
		return false;
	bytes->length = gj_numeric_canonical(bytes->data, bytes->length, bytes->buffer);
	bytes->data = bytes->buffer;
	return true;
}

static inline bool
get_name(const char *value, Bytes *bytes)
{
	bytes->data = value;
	bytes->length = strnlen(value, NAMEDATALEN);
	return true;
}

/* A value of fixed length, padded to width bytes. */
static inline bool
get_fixed(const char *value, int length, int width, Bytes *bytes)
{
	memcpy(bytes->buffer, value, length);
	memset(bytes->buffer + length, 0, width - length);
	bytes->data = bytes->buffer;
	bytes->length = width;
	return true;
}

static inline bool
get_interval(const char *value, Bytes *bytes)
{
	gj_interval_key((const Interval *) value, bytes->buffer);
	bytes->data = bytes->buffer;
	bytes->length = sizeof(__int128);
	return true;
}

/*
 * Loads the keys of rows that are not NULL, and returns these rows' number.  A
 * value that is compressed or stored elsewhere is not worth being fetched for
 * the test: it gets a key that passes, the least one.
 */
static int
load_hashes(const GjKeyFilter *filter, const GjVector *vector, int n, int64 *keys,
			uint16 *rows)
{
	const char *const *pointers = vector->pointers;
	uint32		offset = vector->offset;
	int			width = filter->column->width;
	int			loaded = 0;
	Bytes		bytes;

#define LOAD(get) \
	for (int i = 0; i < n; i++) \
	{ \
		const char *value = pointers[i]; \
		\
		if (value == NULL) \
			continue; \
		value += offset; \
		rows[loaded] = i; \
		keys[loaded++] = likely(get) ? gj_hash_bytes(bytes.data, bytes.length) : filter->min; \
	}

	switch (filter->copy)
	{
		case GJ_COPY_VARLENA:
			LOAD(get_plain(value, &bytes));
			return loaded;
		case GJ_COPY_BPCHAR_KEY:
			LOAD(get_bpchar(value, &bytes));
			return loaded;
		case GJ_COPY_NUMERIC_KEY:
			LOAD(get_numeric(value, &bytes));
			return loaded;
		case GJ_COPY_NAME_KEY:
			LOAD(get_name(value, &bytes));
			return loaded;
		case GJ_COPY_INTERVAL_KEY:
			LOAD(get_interval(value, &bytes));
			return loaded;
		case GJ_COPY_BYTES:
			if (width > MOST_FIXED_BYTES)
				return -1;
			LOAD(get_fixed(value, filter->length, width, &bytes));
			return loaded;
		default:
			return -1;
	}
#undef LOAD
}

/* ---- keys that are integers ---- */

/* A value of fixed length of less than 8 bytes, padded with zeros. */
static inline int64
load_padded(const char *value, int length)
{
	int64		key = 0;

	memcpy(&key, value, length);
	return key;
}

/* The same of integers. */
static int
load_integers(const GjKeyFilter *filter, const GjVector *vector, int n, int64 *keys,
			  uint16 *rows)
{
	const char *const *pointers = vector->pointers;
	uint32		offset = vector->offset;
	int			loaded = 0;

#define LOAD(key) \
	for (int i = 0; i < n; i++) \
		if (!vector->nullable || pointers[i] != NULL) \
		{ \
			const char *value = pointers[i] + offset; \
			\
			rows[loaded] = i; \
			keys[loaded++] = key; \
		}

	switch (filter->copy)
	{
		case GJ_COPY_1:
			LOAD(*(const int8 *) value);
			return loaded;
		case GJ_COPY_2:
			LOAD(*(const int16 *) value);
			return loaded;
		case GJ_COPY_4:
			LOAD(*(const int32 *) value);
			return loaded;
		case GJ_COPY_8:
			LOAD(*(const int64 *) value);
			return loaded;
		case GJ_COPY_FLOAT4_KEY:
			LOAD(gj_float_key(*(const float4 *) value));
			return loaded;
		case GJ_COPY_FLOAT8_KEY:
			LOAD(gj_float_key(*(const float8 *) value));
			return loaded;
		case GJ_COPY_DATE_KEY:
			LOAD(gj_date_key(*(const DateADT *) value));
			return loaded;
		case GJ_COPY_BYTES:
			LOAD(load_padded(value, filter->length));
			return loaded;
		case GJ_COPY_DECIMAL:
			for (int i = 0; i < n; i++)
			{
				if (pointers[i] == NULL)
					continue;
				rows[loaded] = i;
				if (!gj_quick_numeric(&filter->numeric, false, pointers[i] + offset, &keys[loaded]) &&
					!load_decimal(pointers[i] + offset, filter->column->scale, &keys[loaded]))
					return -1;
				loaded++;
			}
			return loaded;
		default:
			return -1;
	}
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
	loaded = filter->kind == GJ_FILTER_BLOOM_BYTES ?
		load_hashes(filter, vector, n, keys, rows) :
		load_integers(filter, vector, n, keys, rows);
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

/* ---- getting and returning filters ---- */

/*
 * Every process says when it has fed its part of an input whose keys make a
 * filter.  When all have, the daemon makes the filter and sends it to those
 * that wait for it.  They feed the inputs in the same order (plan->order), in
 * which an input follows those that its filters come from: so a process that
 * waits never keeps another one waiting.  A process that fails leaves the job,
 * which then fails for all.
 */

static bool
request(GjLink *link, int filter)
{
	struct gj_filter_get body = {.filter = filter};

	return gj_send(&link->conn, GJ_FILTER_GET, &body, sizeof(body), NULL, 0);
}

/* Takes the filter of the FILTER frame just received. */
static bool
take(GjLink *link, const GjPlan *plan, int input, GjKeyFilter *filters, bool *answered)
{
	GjConnection *conn = &link->conn;
	struct gj_filter body;
	GjKeyFilter *filter;

	if (conn->frame.type != GJ_FILTER || conn->frame.length != sizeof(body))
		return gj_fail(conn, "the daemon sent frame %u instead of a filter", conn->frame.type);
	memcpy(&body, conn->body, sizeof(body));
	if (body.filter >= (uint32) plan->nfilters ||
		plan->filters[body.filter].target.input != input || answered[body.filter] ||
		conn->nfds != (body.kind != GJ_FILTER_NONE))
		return gj_fail(conn, "the daemon sent a filter that was not requested");
	answered[body.filter] = true;
	if (body.kind == GJ_FILTER_NONE)
		return true;
	filter = &filters[body.filter];
	if (!gj_extent_map(&link->extents, gj_take_fd(conn, 0), body.extent, false,
					   &filter->extent))
		return false;
	return gj_key_filter_read(filter, filter->extent.base, link->extents.size, body.kind) ||
		gj_fail(conn, "the daemon sent a malformed filter");
}

bool
gj_key_filters_get(GjLink *link, const GjPlan *plan, int input, GjKeyFilter *filters)
{
	bool		answered[GJ_MAX_FILTERS] = {0};
	int			missing = 0;

	for (int i = 0; i < plan->nfilters; i++)
	{
		const GjFilter *f = &plan->filters[i];
		const GjColumn *column;
		int			length;

		if (f->target.input != input)
			continue;
		column = &plan->inputs[input].columns[f->target.column];
		length = get_typlen(column->type);
		filters[i] = (GjKeyFilter)
		{
			.column = column, .copy = gj_copy_of(column, length), .length = length
		};
		gj_quick_numeric_init(&filters[i].numeric, column->scale, false);
		if (!request(link, i))
			return false;
		missing++;
	}
	for (; missing > 0; missing--)
		if (!gj_link_receive(link, -1) || !take(link, plan, input, filters, answered))
			return false;
	return true;
}

bool
gj_key_filters_drops_all(const GjPlan *plan, int input, const GjKeyFilter *filters)
{
	for (int i = 0; i < plan->nfilters; i++)
		if (plan->filters[i].target.input == input && filters[i].extent.base != NULL &&
			filters[i].keys == 0)
			return true;
	return false;
}

bool
gj_key_filters_return(GjLink *link, const GjPlan *plan, int input, GjKeyFilter *filters)
{
	for (int i = 0; i < plan->nfilters; i++)
	{
		GjKeyFilter *filter = &filters[i];
		struct gj_filtered body = {
			.filter = i,
			.tested = filter->tested,
			.dropped = filter->dropped
		};

		if (plan->filters[i].target.input != input || filter->extent.base == NULL)
			continue;
		if (!gj_extent_release(&link->extents, &filter->extent) ||
			!gj_send(&link->conn, GJ_FILTERED, &body, sizeof(body), NULL, 0))
			return false;
	}
	return true;
}

bool
gj_key_filters_fed(GjLink *link, const GjPlan *plan, int input)
{
	struct gj_input_fed body = {.input = input};

	for (int i = 0; i < plan->nfilters; i++)
		if (plan->filters[i].source.input == input)
			return gj_send(&link->conn, GJ_INPUT_FED, &body, sizeof(body), NULL, 0);
	return true;
}
