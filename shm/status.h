/*
 * status.h - the status file, "<socket>.status".
 *
 * The daemon writes it completely, renames it into place, and holds an
 * open-file-description write lock on it while it lives.  When it has measured the
 * rates of the machine, it puts a new file in place and gives up the old one.  A backend reads it at
 * plan time: the lock shows whether the daemon lives, even right after kill -9.
 * The extension's costs and the daemon's cost model use the same rates.
 *
 * Two parts change in place.  stopping is set once.  load is rewritten every
 * GJ_BEAT_MS by one write of all its bytes, which a concurrent read may see
 * incomplete: check is the sum of the bytes before it.  A reader that computes
 * another sum reads again, at most GJ_LOAD_READS times in total, and then treats
 * the load as unknown.  If the daemon dies during a write its lock is gone.
 */
#ifndef GPUJOIN_STATUS_H
#define GPUJOIN_STATUS_H

#include <stdint.h>

#define GJ_STATUS_MAGIC		0x31534a47	/* "GJS1" */
#define GJ_RATE_POINTS		8
#define GJ_GROUP_POINTS		4
#define GJ_BEAT_MS			100
#define GJ_LOAD_READS		4

/* The daemon's load.  All zero: unknown. */
struct gj_load
{
	/* Increases with each write, for which the daemon must get its own locks.
	 * Two readings thus show whether it gets processor time and is not stuck.
	 * Never 0. */
	uint64_t	beats;
	uint32_t	running;		/* joins with work for a thread */
	uint32_t	threads;		/* that may now work on joins concurrently */
	uint32_t	queued;			/* jobs waiting for admission */
	/* The processor time that the daemon's threads recently got, in thousandths
	 * of what they were ready to use.  1000: they never waited, or had nothing
	 * to do for some seconds. */
	uint32_t	processor_share;
	/* CLOCK_MONOTONIC at the write, in us: how old the load is */
	uint64_t	at_us;
	uint64_t	kept;			/* version of the file of kept columns; 0: there is none */
	uint64_t	check;			/* FNV-1a, 64 bits, of the bytes before it */
};

struct gj_status
{
	uint32_t	magic;			/* GJ_STATUS_MAGIC */
	uint16_t	version;		/* GJ_LAYOUT_VERSION */
	uint16_t	stopping;		/* 1: graceful stop under way */
	int32_t		pid;
	uint32_t	cores;			/* that the cpu provider uses */
	uint64_t	extent_size;
	uint64_t	budget;			/* bytes */
	/* ns per row and core, joins of 8-byte keys with one 8-byte payload per
	 * side, at build sizes 2^(10 + 2 i) rows, with all cores busy */
	double		build_ns[GJ_RATE_POINTS];
	double		probe_ns[GJ_RATE_POINTS];
	double		column_ns;		/* one more 8-byte output column, per row */
	/* ns per row and core to group rows by an 8-byte key into 2^(4 + 6 i) groups
	 * with a sum of an 8-byte column, and what more of these add */
	double		group_ns[GJ_GROUP_POINTS];
	double		function_ns;	/* one more function of the group */
	double		operation_ns;	/* one arithmetic operation */
	double		condition_ns;	/* one comparison of a column */
	/* what one core needs for a probe of a hash table in its own cache, and for a
	 * load from memory whose address is the result of the load before */
	double		cached_probe_ns;
	double		memory_load_ns;
	double		cached_bytes;	/* size up to which random accesses hit a cache */
	double		uncached_bytes; /* size from which on they all miss */
	char		daemon_version[32]; /* NUL-terminated */
	uint32_t	protocol_version;	/* GJ_PROTOCOL_VERSION */
	uint32_t	job_version;	/* of the job documents that the daemon takes */
	uint32_t	processors;		/* that the daemon may use by its affinity and control
								 * group, whatever its setting says; at least 1 */
	uint32_t	reserved;
	struct gj_load load;
};

#endif							/* GPUJOIN_STATUS_H */
