/*
 * feed/page/lists.c - the page feed's searches of values in a list.
 *
 * A list has integers, dates or timestamps as 64-bit integers, or texts.  Texts
 * are equal if their bytes are, because their collation is deterministic.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "feed/page/page.h"

/* Up to here, comparing with each integer is faster than a binary search. */
#define FEW_INTEGERS 8

static int
compare_integers(const void *a, const void *b)
{
	int64		left = *(const int64 *) a;
	int64		right = *(const int64 *) b;

	return (left > right) - (left < right);
}

/* gj_page_qual() accepts integers, dates and timestamps only. */
static int64
integer_of(Oid type, Datum value)
{
	switch (get_typlen(type))
	{
		case sizeof(int16):
			return DatumGetInt16(value);
		case sizeof(int32):
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

/* The length of a text that counts: blanks at the end of char(n) do not. */
static inline uint32
significant(const char *data, uint32 length, bool padded)
{
	if (padded)
		while (length > 0 && data[length - 1] == ' ')
			length--;
	return length;
}

static struct varlena *
text_of(Datum value, bool padded)
{
	struct varlena *from = PG_DETOAST_DATUM_PACKED(value);
	uint32		length = significant(VARDATA_ANY(from), VARSIZE_ANY_EXHDR(from), padded);
	struct varlena *to = palloc(VARHDRSZ + length);

	SET_VARSIZE(to, VARHDRSZ + length);
	memcpy(VARDATA(to), VARDATA_ANY(from), length);
	return to;
}

static void
add_value(GjPageCheck *check, Datum value)
{
	GjPageList *list = &check->list;

	if (list->texts != NULL)
		list->texts[list->n++] = text_of(value, check->qual.type == BPCHAROID);
	else
		list->integers[list->n++] = integer_of(check->qual.value_type, value);
}

void
gj_page_list_read(GjPageCheck *check, Datum value)
{
	GjPageList *list = &check->list;
	Oid			type = check->qual.value_type;
	bool		texts = type == TEXTOID || type == VARCHAROID || type == BPCHAROID;
	Datum	   *values = &value;
	bool	   *nulls = NULL;
	int			n = 1;

	if (check->qual.array)
	{
		int16		length;
		bool		by_value;
		char		align;

		get_typlenbyvalalign(type, &length, &by_value, &align);
		deconstruct_array(DatumGetArrayTypeP(value), type, length, by_value, align,
						  &values, &nulls, &n);
	}
	*list = (GjPageList) {0};
	if (texts)
		list->texts = palloc(Max(1, n) * sizeof(struct varlena *));
	else
		list->integers = palloc(Max(1, n) * sizeof(int64));
	for (int i = 0; i < n; i++)
		if (nulls == NULL || !nulls[i])
			add_value(check, values[i]);
	if (!texts)
		qsort(list->integers, list->n, sizeof(int64), compare_integers);
}

static inline bool
has_integer(const GjPageList *list, int64 value)
{
	bool		found = false;

	if (list->n <= FEW_INTEGERS)
	{
		for (int i = 0; i < list->n; i++)
			found |= list->integers[i] == value;
		return found;
	}
	return bsearch(&value, list->integers, list->n, sizeof(int64), compare_integers) != NULL;
}

#define SEARCH(type) \
	for (int i = 0; i < n; i++) \
		if (!vector->nullable || pointers[i] != NULL) \
		{ \
			kept[nkept] = i; \
			nkept += has_integer(list, *(const type *) (pointers[i] + offset)); \
		}

static int
search_integers(const GjPageCheck *check, const GjVector *vector, int n, uint16 *kept)
{
	const GjPageList *list = &check->list;
	const char *const *pointers = vector->pointers;
	uint32		offset = vector->offset;
	int			nkept = 0;

	switch (check->qual.type)
	{
		case INT2OID:
			SEARCH(int16);
			return nkept;
		case INT4OID:
		case DATEOID:
			SEARCH(int32);
			return nkept;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			SEARCH(int64);
			return nkept;
	}
	return -1;
}
#undef SEARCH

/* Does the list have this text?  Most differ in their first byte. */
static inline bool
has_text(const GjPageList *list, const char *data, uint32 length, bool padded)
{
	for (int i = 0; i < list->n; i++)
	{
		const char *other = VARDATA(list->texts[i]);
		uint32		wanted = VARSIZE(list->texts[i]) - VARHDRSZ;

		if (length < wanted || (!padded && length > wanted))
			continue;
		if (wanted > 0 && (data[0] != other[0] || memcmp(data, other, wanted) != 0))
			continue;
		if (significant(data + wanted, length - wanted, padded) == 0)
			return true;
	}
	return false;
}

static int
search_texts(const GjPageCheck *check, const GjVector *vector, int n, uint16 *kept)
{
	bool		padded = check->qual.type == BPCHAROID;
	bool		wanted = check->qual.test == GJ_TEST_IN;
	int			nkept = 0;

	for (int i = 0; i < n; i++)
	{
		const char *pointer = vector->pointers[i];
		struct varlena *value;
		struct varlena *plain;

		if (pointer == NULL)
			continue;
		value = plain = (struct varlena *) (pointer + vector->offset);
		if (unlikely(VARATT_IS_COMPRESSED(value) || VARATT_IS_EXTERNAL(value)))
			plain = pg_detoast_datum_packed(value);
		kept[nkept] = i;
		nkept += has_text(&check->list, VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain),
						  padded) == wanted;
		if (unlikely(plain != value))
			pfree(plain);
	}
	return nkept;
}

int
gj_page_list_filter(const GjPageCheck *check, const GjVector *vector, int n, uint16 *kept)
{
	if (check->list.texts != NULL)
		return search_texts(check, vector, n, kept);
	return search_integers(check, vector, n, kept);
}
