/*
 * feed/key_filter.h - tests rows of an input against a filter of another one's keys.
 */
#ifndef FEED_KEY_FILTER_H
#define FEED_KEY_FILTER_H

#include "feed/writer.h"

/*
 * A filter in this process, while its target is fed.  The header's fields are
 * private copies that have been checked.  The words are shared memory, so
 * another process may change which keys pass.
 */
typedef struct GjKeyFilter
{
	const GjColumn *column;		/* of the target */
	GjCopy		copy;			/* how its values become keys */
	int			length;			/* of its type; < 0: variable */
	GjQuickNumeric numeric;		/* GJ_FORM_DECIMAL: how it is converted */
	GjExtent	extent;			/* base NULL: there is no filter */
	enum gj_filter_kind kind;
	uint64		keys;			/* 0: no row passes */
	int64		min;
	uint64		span;			/* max - min */
	uint64		seed;
	uint64		nwords;
	const uint64 *words;

	/* rows that the filter has tested and dropped */
	uint64		tested;
	uint64		dropped;

	/* a filter that drops few rows is not tested for a while */
	uint64		window_tested;
	uint64		window_dropped;
	uint64		pause;			/* rows that are still to pass untested */
} GjKeyFilter;

/*
 * Reads the filter in an extent of size bytes, which must be of this kind.
 * Returns false, with *filter unchanged, if it is malformed.  The extent must
 * stay mapped as long as the filter is used.
 */
extern bool gj_key_filter_read(GjKeyFilter *filter, const char *base, Size size,
							   uint32 kind);

/*
 * Stores in kept, in ascending order, which of n rows pass, given their keys.
 * At most MaxHeapTuplesPerPage rows.  Returns their number, or -1 if a key does
 * not have the form that its type promises.
 */
extern int	gj_key_filter_select(GjKeyFilter *filter, const GjVector *vector, int n,
								 uint16 *kept);

#endif							/* FEED_KEY_FILTER_H */
