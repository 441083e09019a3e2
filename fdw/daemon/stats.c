/*
 * daemon/stats.c - reads and validates the daemon's statistics of a job.
 *
 * Each count is checked against its bound and against the length of the
 * message before the entries that it counts are read.  Each text is checked to
 * be terminated and printable, because EXPLAIN prints it unchanged.
 */
#include <string.h>

#include "daemon/stats.h"

/* Is this a terminated text of characters that exist in every encoding? */
static bool
is_text(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
	{
		if (text[i] == '\0')
			return true;
		if (text[i] < ' ' || text[i] > '~')
			return false;
	}
	return false;
}

#define IS_TEXT(array) is_text((array), sizeof(array))

bool
gj_stats_read(GjStats *stats, const void *body, size_t length)
{
	const char *at = body;		/* stays aligned: sizes are multiples of 8 */
	const struct gj_stats *total = body;
	size_t		phases = 0;
	size_t		joins_length;

	if (length < sizeof(*total) ||
		total->joins > GJ_MAX_INPUTS || total->aggregates > GJ_MAX_INPUTS ||
		total->filters > GJ_MAX_FILTERS || total->participants > GJ_MAX_PARTICIPANTS ||
		!IS_TEXT(total->provider) || !IS_TEXT(total->fallback) ||
		!IS_TEXT(total->strategy) || !IS_TEXT(total->strategy_reason) ||
		!IS_TEXT(total->alone))
		return false;
	stats->total = total;
	at += sizeof(*total);
	length -= sizeof(*total);

	joins_length = total->joins * sizeof(*stats->joins);
	if (length < joins_length)
		return false;
	stats->joins = (const struct gj_join_stats *) at;
	at += joins_length;
	length -= joins_length;
	for (uint32_t i = 0; i < total->joins; i++)
	{
		if (stats->joins[i].phases > GJ_MAX_PHASES ||
			!IS_TEXT(stats->joins[i].algorithm) || !IS_TEXT(stats->joins[i].reason))
			return false;
		phases += stats->joins[i].phases;
	}

	if (length != phases * sizeof(*stats->phases) +
		total->aggregates * sizeof(*stats->aggregates) +
		total->filters * sizeof(*stats->filters) +
		total->participants * sizeof(*stats->participants))
		return false;
	stats->phases = (const struct gj_phase_stats *) at;
	stats->aggregates = (const struct gj_aggregate_stats *) (stats->phases + phases);
	stats->filters = (const struct gj_filter_stats *) (stats->aggregates + total->aggregates);
	stats->participants = (const struct gj_participant_stats *) (stats->filters + total->filters);
	for (size_t i = 0; i < phases; i++)
		if (!IS_TEXT(stats->phases[i].name))
			return false;
	for (uint32_t i = 0; i < total->aggregates; i++)
		if (!IS_TEXT(stats->aggregates[i].strategy))
			return false;
	for (uint32_t i = 0; i < total->filters; i++)
		if (stats->filters[i].kind > GJ_FILTER_BLOOM_BYTES || !IS_TEXT(stats->filters[i].reason))
			return false;
	return true;
}

const struct gj_phase_stats *
gj_stats_phases(const GjStats *stats, uint32_t i)
{
	const struct gj_phase_stats *first = stats->phases;

	for (uint32_t join = 0; join < i; join++)
		first += stats->joins[join].phases;
	return first;
}
