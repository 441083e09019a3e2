/*
 * stats.h - what a job has cost, the body of a STATS frame.
 *
 * Statistics are for EXPLAIN only: nothing that a query returns depends on
 * them.  Their texts are printable ASCII characters that end with a NUL.
 */
#ifndef GPUJOIN_STATS_H
#define GPUJOIN_STATS_H

#include <stdint.h>

#define GJ_MAX_PHASES		8		/* of a join */
#define GJ_MAX_PARTICIPANTS 1025	/* a leader and PostgreSQL's limit of workers */

struct gj_stats
{
	uint64_t	queue_us;
	uint64_t	join_us;		/* RUN to last result produced, without waits for credits */
	uint64_t	rows_in;
	uint64_t	bytes_in;
	uint64_t	rows_out;
	uint64_t	bytes_out;
	uint64_t	peak_bytes;		/* memory of the job, extents included */
	uint32_t	joins;			/* gj_join_stats that follow, at most GJ_MAX_INPUTS */
	uint32_t	participants;	/* gj_participant_stats at the end */
	char		provider[16];	/* that executed the job */
	char		fallback[160];	/* why no preferred one did; empty: one did */
	uint32_t	aggregates;		/* gj_aggregate_stats, at most GJ_MAX_INPUTS */
	uint32_t	filters;		/* gj_filter_stats, at most GJ_MAX_FILTERS */
	uint32_t	devices;		/* that executed the job together; 0: one */
	uint32_t	hops;			/* links that each byte of sent_bytes crossed */
	uint64_t	sent_bytes;		/* that devices copied from each other */
	uint64_t	device_wait_us; /* the first device that finished waited for the last */
	uint64_t	meeting_wait_us;	/* the first device at the join where they
									 * exchanged rows waited for the last */
	uint64_t	predicted_us;	/* of join_us, for the strategy; 0: not predicted */
	char		strategy[16];	/* of the devices: "alone", "replicate", "divide",
								 * "exchange"; empty: cores executed the job */
	char		strategy_reason[128];	/* why it is not the one that the daemon's setting
								 * demands; empty: it is, or none is demanded */
	char		alone[96];		/* why one device executed a job for several;
								 * empty: several did, or it was for one */
};

struct gj_join_stats
{
	char		algorithm[24];	/* "phj-om", "npj", ... */
	uint32_t	join;			/* position in post-order of the job's tree */
	uint32_t	build_left;		/* 1: the left side was the build side */
	uint32_t	bits;			/* radix bits; 0: not partitioned */
	uint32_t	phases;			/* gj_phase_stats, behind those of joins before it */
	uint64_t	build_rows;
	uint64_t	probe_rows;
	uint64_t	rows_out;
	uint64_t	us;
	char		reason[96];		/* why the job's algorithm did not execute the
								 * join; empty: it did, or the job names none */
};

/* A part of a join; in the order of execution, behind all gj_join_stats. */
struct gj_phase_stats
{
	char		name[32];		/* "partition build side", "match", ... */
	uint64_t	predicted_ns;	/* by the cost model; 0: not predicted */
	uint64_t	actual_ns;
};

/* An aggregate, in post-order of the job's tree; behind all gj_phase_stats. */
struct gj_aggregate_stats
{
	char		strategy[24];	/* "one group", "hash", "partitioned" */
	uint64_t	rows_in;
	uint64_t	groups;
	uint64_t	bytes;			/* memory for groups and rows, at the highest */
	uint64_t	us;
};

/* A filter, in the order of the job's filters; behind all gj_aggregate_stats. */
struct gj_filter_stats
{
	uint32_t	kind;			/* enum gj_filter_kind */
	uint32_t	reserved;		/* 0 */
	uint64_t	keys;			/* rows of the source with a key */
	uint64_t	bytes;			/* of the filter's data */
	uint64_t	us;				/* to make it */
	uint64_t	tested;			/* rows of the target, all participants */
	uint64_t	dropped;		/* of them, not fed */
	char		reason[64];		/* why there is no filter; empty: there is one,
								 * or its source was not fed completely */
};

struct gj_participant_stats
{
	int32_t		participant;
	uint32_t	reserved;
	uint64_t	fed_rows;
	uint64_t	fed_bytes;
	uint64_t	feed_us;
	uint64_t	wait_us;
	uint64_t	returned_rows;
	uint64_t	return_us;
};

#endif							/* GPUJOIN_STATS_H */
