/*
 * daemon_stats.h - the daemon's statistics of a job, as far as they can be believed.
 *
 * Nothing but memory and the layout is needed to read them, so that the reader
 * can be tried without a server.
 */
#ifndef GPUJOIN_DAEMON_STATS_H
#define GPUJOIN_DAEMON_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "../shm/layout.h"

/* A STATS message that is well formed.  All of it lies in the message. */
typedef struct GjStats
{
	const struct gj_stats *total;
	const struct gj_join_stats *joins;	/* total->joins entries */
	const struct gj_phase_stats *phases;	/* of all joins, in their order */
	const struct gj_participant_stats *participants;	/* total->participants */
} GjStats;

/*
 * Reads a message's body, of length bytes and aligned to 8, that nobody else
 * can write to.  False: it is malformed, and *stats undefined.
 */
extern bool gj_stats_read(GjStats *stats, const void *body, size_t length);

/* The phases of stats->joins[i], which has joins[i].phases of them. */
extern const struct gj_phase_stats *gj_stats_phases(const GjStats *stats, uint32_t i);

#endif							/* GPUJOIN_DAEMON_STATS_H */
