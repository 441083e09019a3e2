/*
 * feed/key_filter_protocol.h - filters that travel from small inputs to the feeds of
 * large ones.
 */
#ifndef FEED_KEY_FILTER_PROTOCOL_H
#define FEED_KEY_FILTER_PROTOCOL_H

#include "feed/key_filter.h"

/*
 * Gets the filters of an input that this process is about to feed.  Waits
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

#endif							/* FEED_KEY_FILTER_PROTOCOL_H */
