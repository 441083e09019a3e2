/*
 * feed/key_filter.h - tests rows of an input against a filter of another one's keys.
 */
#ifndef FEED_KEY_FILTER_H
#define FEED_KEY_FILTER_H

#include "postgres.h"

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

/* ---- getting and returning filters ---- */

/*
 * Gets the filters of an input that this process feeds.  Waits
 * until the inputs that they come from have been fed completely.  filters has
 * an entry for each filter of the plan.
 */
extern bool gj_key_filters_get(GjLink *link, const GjPlan *plan, int input,
							GjKeyFilter *filters);

/* Does a filter of the input let no row pass? */
extern bool gj_key_filters_drops_all(const GjPlan *plan, int input,
								  const GjKeyFilter *filters);

/* Returns the filters of an input that this process has fed. */
extern bool gj_key_filters_return(GjLink *link, const GjPlan *plan, int input,
							   GjKeyFilter *filters);

/*
 * Tells the daemon that this process has nothing more of the input to feed, if
 * a filter comes from it.
 */
extern bool gj_key_filters_fed(GjLink *link, const GjPlan *plan, int input);

#endif							/* FEED_KEY_FILTER_H */
