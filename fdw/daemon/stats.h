/*
 * daemon/stats.h - reads and validates the daemon's statistics of a job.
 *
 * The reader needs only memory and the layout, so it can be tested without a
 * server.
 */
#ifndef DAEMON_STATS_H
#define DAEMON_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "../shm/layout.h"

/* A well-formed STATS message.  All pointers point into the message. */
typedef struct GjStats
{
	const struct gj_stats *total;
	const struct gj_join_stats *joins;	/* total->joins entries */
	const struct gj_phase_stats *phases;	/* of all joins, in their order */
	const struct gj_aggregate_stats *aggregates;	/* total->aggregates entries */
	const struct gj_filter_stats *filters;	/* total->filters entries */
	const struct gj_participant_stats *participants;	/* total->participants */
} GjStats;

/*
 * Reads the body of a message, length bytes aligned to 8.  No other process
 * may be able to write to it.  Returns false, with *stats undefined, if it is
 * malformed.
 */
extern bool gj_stats_read(GjStats *stats, const void *body, size_t length);

/* The phases of stats->joins[i]; there are joins[i].phases of them. */
extern const struct gj_phase_stats *gj_stats_phases(const GjStats *stats, uint32_t i);

#endif							/* DAEMON_STATS_H */
