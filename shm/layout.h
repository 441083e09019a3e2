/*
 * layout.h - every byte that a backend and the daemon share.
 *
 * Two kinds of bytes are described here and nowhere else:
 *
 *  1. extents: sealed memfds of one fixed size that hold one batch of rows in
 *     column layout (or consecutive long values), and
 *  2. frames: the control messages on the unix socket.
 *
 * This file is authoritative; shm/ mirrors it in Go, and a test compares both by
 * the compiler's debug information.  It includes only <stdint.h>, so that the
 * extension, tools and tests can all include it.
 *
 * Everything is little-endian, naturally aligned, and addressed by offsets,
 * never by pointers.  A reader copies a header to private memory once, checks
 * the copy, and clamps every offset that it reads afterwards.
 */
#ifndef GPUJOIN_LAYOUT_H
#define GPUJOIN_LAYOUT_H

#include <stdint.h>

#define GJ_PROTOCOL_VERSION 3
#define GJ_LAYOUT_VERSION	7

/* ------------------------------------------------------------------------
 * Extents
 *
 * Writer: the side that holds the extent (backend for inputs, daemon for
 * results).  Reader: the other side, after a FILLED or RESULT frame; the
 * socket orders the writes.  If the writer dies before that frame the extent
 * was never announced and is reclaimed; if the reader dies its socket closes
 * and the daemon reclaims its extents.
 * ------------------------------------------------------------------------ */

#define GJ_EXTENT_MIN_SIZE	(UINT64_C(1) << 20)
#define GJ_EXTENT_MAX_SIZE	(UINT64_C(1) << 30)

#define GJ_BATCH_MAGIC		0x31424a47	/* "GJB1" */
#define GJ_CHAIN_MAGIC		0x31434a47	/* "GJC1" */
#define GJ_FILTER_MAGIC		0x314b4a47	/* "GJK1" */
#define GJ_MAX_COLUMNS		1664		/* PostgreSQL's target list limit */
#define GJ_MAX_INPUTS		64

/* How the values of a column are stored in a batch. */
enum gj_encoding
{
	/* values: rows * width bytes.  width is 1, 2, 4, 8 or a multiple of 8 up
	 * to 64; shorter values are padded with zero bytes. */
	GJ_ENC_FIXED = 1,

	/* values: (rows + 1) uint32 offsets into heap, not decreasing.  Each value
	 * starts at its offset, begins with PostgreSQL's varlena header (1 byte
	 * where the value fits, else 4 bytes), and is padded with zero bytes to
	 * the column's alignment (4 or 8).  A NULL has an empty span. */
	GJ_ENC_VARLENA = 2
};

/* One column of a batch.  All offsets count from the start of the extent. */
struct gj_column
{
	uint8_t		encoding;		/* enum gj_encoding */
	uint8_t		align;			/* of values (FIXED: 1..8) or of heap (4, 8) */
	uint16_t	width;			/* bytes per value, FIXED; 0 for VARLENA */
	uint32_t	nulls;			/* number of NULLs among rows */
	uint32_t	values_off;		/* multiple of 64 */
	uint32_t	validity_off;	/* bitmap, bit = 1: not NULL, least significant
								 * bit first; multiple of 64; 0: no NULLs */
	uint32_t	heap_off;		/* VARLENA: multiple of 64, else 0 */
	uint32_t	heap_len;		/* VARLENA: bytes in use, else 0 */
};

/* At offset 0 of an extent that holds a batch; ncols gj_column follow. */
struct gj_batch
{
	uint32_t	magic;			/* GJ_BATCH_MAGIC */
	uint16_t	version;		/* GJ_LAYOUT_VERSION */
	uint16_t	ncols;
	uint32_t	rows;
	uint32_t	flags;			/* must be 0 */
	uint64_t	used;			/* bytes of the extent in use */
	uint64_t	reserved;		/* must be 0 */
};

/*
 * A value too long for a batch ("chained") is stored in extents of a separate
 * kind; the batch has this reference in place of the varlena.  PostgreSQL uses
 * the first byte for external TOAST pointers, which never occur in a batch
 * because values are detoasted first.
 *
 * Each participant that feeds such values fills a chain of extents, numbered
 * from 0, with consecutive values.  A value that reaches the end of an extent
 * continues at the start of the next one's data; only the last extent of a
 * chain may be partly filled.
 */
#define GJ_CHAIN_REF_BYTE	0x01
#define GJ_CHAIN_REF_TAG	0x47

struct gj_chain_ref
{
	uint8_t		header;			/* GJ_CHAIN_REF_BYTE */
	uint8_t		tag;			/* GJ_CHAIN_REF_TAG */
	uint16_t	reserved;		/* must be 0 */
	uint32_t	offset;			/* of the start, in that extent's data */
	uint64_t	chain;			/* of the start: participant << 32 | number */
	uint64_t	length;			/* bytes of the value, header included */
};

/* At offset 0 of an extent of a chain; the data follow at GJ_CHAIN_DATA_OFF. */
struct gj_chain_header
{
	uint32_t	magic;			/* GJ_CHAIN_MAGIC */
	uint16_t	version;		/* GJ_LAYOUT_VERSION */
	uint16_t	reserved;		/* must be 0 */
	uint64_t	chain;			/* participant << 32 | number, unique in a job */
	uint32_t	bytes;			/* of data, > 0 */
	uint32_t	reserved2;		/* must be 0 */
};

#define GJ_CHAIN_DATA_OFF	64

/*
 * A filter holds the keys of one column of an input that has been fed
 * completely, its source.  It is for the feed of another input, its target: a
 * target row whose key is not in the filter has no partner in the join, so it
 * need not be fed.  Keys are signed integers.
 *
 * Writer: the daemon, before the FILTER frame.  Readers: all participants that
 * feed the target, each until it sends RELEASE.  A reader copies the header,
 * checks the copy, and computes every position so that it is below the number
 * of bits or words that it has checked.
 */
enum gj_filter_kind
{
	GJ_FILTER_NONE = 0,			/* there is no filter: feed all rows */

	/* Bit key - min, least significant bit of each byte first, is 1 if the key
	 * occurs.  bytes is the least multiple of 8 that has max - min + 1 bits. */
	GJ_FILTER_BITMAP = 1,

	/*
	 * A blocked Bloom filter.  Each block is one uint64, of which a key sets up
	 * to GJ_BLOOM_BITS bits.  In arithmetic modulo 2^64:
	 *
	 * h = (key ^ seed) * GJ_HASH_1; h ^= h >> 32; h *= GJ_HASH_2; h ^= h >> 32
	 *
	 * The block is (h >> 32) * blocks >> 32, and its bit i is number
	 * (h >> 6 i) & 63. */
	GJ_FILTER_BLOOM = 2
};

#define GJ_BLOOM_BITS 4
#define GJ_HASH_1 UINT64_C(0x9e3779b97f4a7c15)
#define GJ_HASH_2 UINT64_C(0xd6e8feb86659fd93)

/* At offset 0 of an extent with a filter; the data follow at GJ_FILTER_DATA_OFF. */
struct gj_filter_header
{
	uint32_t	magic;			/* GJ_FILTER_MAGIC */
	uint16_t	version;		/* GJ_LAYOUT_VERSION */
	uint16_t	kind;			/* GJ_FILTER_BITMAP or GJ_FILTER_BLOOM */
	uint32_t	bytes;			/* of data, a multiple of 8; 0: no keys */
	uint32_t	reserved;		/* must be 0 */
	uint64_t	keys;			/* rows of the source with a key; 0: no row passes */
	int64_t		min;			/* the least key */
	int64_t		max;			/* the greatest key */
	uint64_t	seed;			/* GJ_FILTER_BLOOM: of the hash; else 0 */
};

#define GJ_FILTER_DATA_OFF	64
#define GJ_MAX_FILTERS		64	/* of a job */
#define GJ_MAX_INPUT_FILTERS 8	/* of one target */

/* ------------------------------------------------------------------------
 * Frames
 *
 * A frame is this header, then length bytes of body; nfds file descriptors
 * travel with its first byte.  One connection belongs to one participant of
 * one job, which ends with the last of them.  Closing a connection is always
 * a correct way to leave.
 * ------------------------------------------------------------------------ */

#define GJ_FRAME_MAGIC		0x31464a47	/* "GJF1" */
#define GJ_FRAME_MAX		(UINT32_C(4) << 20) /* bytes of body */
#define GJ_FRAME_MAX_FDS	16

struct gj_frame
{
	uint32_t	magic;			/* GJ_FRAME_MAGIC */
	uint32_t	length;			/* bytes of body that follow */
	uint16_t	type;			/* enum gj_message */
	uint16_t	nfds;
	uint32_t	reserved;		/* must be 0 */
};

enum gj_message
{
	/* backend to daemon */
	GJ_HELLO = 1,				/* gj_hello */
	GJ_OPEN = 2,				/* gj_open, then the job as JSON */
	GJ_ATTACH = 3,				/* gj_attach */
	GJ_WANT = 4,				/* gj_want: extents to fill */
	GJ_FILLED = 5,				/* gj_filled: a batch of an input; unmapped */
	GJ_CHAIN_FILLED = 6,		/* gj_chain_filled: an extent of a chain; unmapped */
	GJ_FED = 7,					/* gj_fed: this participant has fed its rows */
	GJ_RUN = 8,					/* gj_run: every participant has fed */
	GJ_NEXT = 9,				/* gj_next: send more result batches */
	GJ_RELEASE = 10,			/* gj_release: extent unmapped, take it back */
	GJ_CHAIN_GET = 11,			/* gj_chain_get: send an extent of a chain */
	GJ_RETURNED = 12,			/* gj_returned: costs of returning rows */
	GJ_STATS_GET = 13,			/* no body */
	GJ_STATUS_GET = 14,			/* no body; allowed right after HELLO */
	GJ_INPUT_FED = 15,			/* gj_input_fed: fed all rows of a source */
	GJ_FILTER_GET = 16,			/* gj_filter_get: send a filter when it exists */
	GJ_FILTERED = 17,			/* gj_filtered: a filter's effect on a feed */

	/* daemon to backend */
	GJ_WELCOME = 65,			/* gj_welcome, answers HELLO */
	GJ_ADMITTED = 66,			/* gj_admitted, answers OPEN and ATTACH */
	GJ_FAILED = 67,				/* gj_failed, then the message as text */
	GJ_GRANT = 68,				/* gj_grant, with count fds, answers WANT */
	GJ_FED_OK = 69,				/* no body, answers FED */
	GJ_RUNNING = 70,			/* no body, answers RUN: rows will come */
	GJ_RESULT = 71,				/* gj_result, with 1 fd, answers NEXT */
	GJ_END = 72,				/* no body, no more results for you */
	GJ_CHAIN_EXTENT = 73,		/* gj_chain_extent, with 1 fd, answers CHAIN_GET */
	GJ_STATS = 74,				/* gj_stats, then joins, phases, aggregates,
								 * filters, participants */
	GJ_STATUS = 75,				/* JSON */
	GJ_FILTER = 76				/* gj_filter, with 1 fd unless there is none,
								 * answers FILTER_GET */
};

#define GJ_TOKEN_SIZE 16

struct gj_hello
{
	uint32_t	protocol_version;
	uint32_t	layout_version;
	int32_t		leader_pid;		/* of the parallel group, or own pid */
	uint32_t	database;		/* pg_database.oid */
	uint64_t	system_identifier;
};

struct gj_open
{
	uint32_t	queue_timeout_ms;	/* 0: refuse rather than queue */
	uint32_t	flags;				/* GJ_OPEN_* */
	uint32_t	participants;		/* planned, leader included */
	uint32_t	json_length;		/* bytes that follow */
	int32_t		participant;		/* ParallelWorkerNumber; leader is -1 */
	uint32_t	reserved;
};

#define GJ_OPEN_REWIND	0x1		/* keep inputs: RUN may come again */

struct gj_attach
{
	uint64_t	job;
	uint8_t		token[GJ_TOKEN_SIZE];
	int32_t		participant;	/* ParallelWorkerNumber; leader is -1 */
	uint32_t	reserved;
};

struct gj_want
{
	uint32_t	count;			/* 1 .. GJ_FRAME_MAX_FDS */
	uint32_t	reserved;
};

struct gj_filled
{
	uint64_t	extent;
	uint32_t	input;
	uint32_t	rows;			/* > 0; equals gj_batch.rows */
};

struct gj_chain_filled
{
	uint64_t	extent;
	uint64_t	chain;			/* equals gj_chain_header.chain */
	uint32_t	bytes;			/* equals gj_chain_header.bytes */
	uint32_t	reserved;		/* must be 0 */
};

struct gj_fed
{
	uint64_t	rows;			/* fed by this participant, all inputs */
	uint64_t	bytes;
	uint64_t	feed_us;		/* wall time, waits included */
	uint64_t	wait_us;		/* of feed_us: waiting for extents */
};

struct gj_input_fed
{
	uint32_t	input;			/* the source of some filter */
	uint32_t	reserved;		/* must be 0 */
};

struct gj_filter_get
{
	uint32_t	filter;			/* position in the job's filters */
	uint32_t	reserved;		/* must be 0 */
};

struct gj_filtered
{
	uint32_t	filter;
	uint32_t	reserved;		/* must be 0 */
	uint64_t	tested;			/* rows, by this participant */
	uint64_t	dropped;		/* of them, not fed */
};

struct gj_run
{
	uint32_t	generation;		/* 1, 2, ...: increases with each rewind */
	uint32_t	reserved;
};

struct gj_next
{
	uint32_t	count;			/* credits added */
	uint32_t	reserved;
};

struct gj_release
{
	uint64_t	extent;
};

struct gj_chain_get
{
	uint64_t	chain;
};

struct gj_returned
{
	uint64_t	rows;
	uint64_t	return_us;
};

struct gj_welcome
{
	uint32_t	protocol_version;
	uint32_t	layout_version;
	uint64_t	extent_size;	/* bytes of every extent of this daemon */
	int32_t		pid;
	uint32_t	reserved;
	char		version[32];	/* NUL-terminated */
};

struct gj_admitted
{
	uint64_t	job;
	uint8_t		token[GJ_TOKEN_SIZE];
	uint64_t	reserved_bytes;
	uint64_t	queue_us;
};

/* Why the daemon cannot go on with a job.  Everything but PROTOCOL before
 * RUNNING means "use the native plan". */
enum gj_failure
{
	GJ_FAIL_PROTOCOL = 1,		/* malformed frame or extent */
	GJ_FAIL_VERSION = 2,		/* other protocol or layout version */
	GJ_FAIL_UNSUPPORTED = 3,	/* the daemon lacks a part of the job */
	GJ_FAIL_BUSY = 4,			/* queue timeout, or would have to queue */
	GJ_FAIL_BUDGET = 5,			/* needs more memory than it may use */
	GJ_FAIL_PROVIDER = 6,		/* the join itself failed */
	GJ_FAIL_STOPPING = 7,		/* graceful stop under way */
	GJ_FAIL_INTERNAL = 8,
	GJ_FAIL_ARITHMETIC = 9		/* a value is out of range or not a number */
};

struct gj_failed
{
	uint32_t	code;			/* enum gj_failure */
	uint32_t	length;			/* bytes of text that follow, at most 1024 */
};

struct gj_grant
{
	uint32_t	count;			/* ids in use, one fd each, same order */
	uint32_t	reserved;
	uint64_t	extents[GJ_FRAME_MAX_FDS];
};

struct gj_result
{
	uint64_t	extent;
	uint32_t	rows;
	uint32_t	reserved;
};

struct gj_chain_extent
{
	uint64_t	extent;
	uint64_t	chain;			/* that was asked for */
	uint32_t	bytes;			/* equals gj_chain_header.bytes */
	uint32_t	reserved;		/* must be 0 */
};

struct gj_filter
{
	uint64_t	extent;			/* GJ_FILTER_NONE: 0 */
	uint32_t	filter;			/* that was asked for */
	uint32_t	kind;			/* equals gj_filter_header.kind; GJ_FILTER_NONE:
								 * no extent */
};

/*
 * Statistics are for EXPLAIN only: nothing that a query returns depends on
 * them.  Their texts are printable ASCII characters that end with a NUL.
 */
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

/* ------------------------------------------------------------------------
 * The status file, "<socket>.status"
 *
 * The daemon writes it completely, renames it into place, and holds an
 * open-file-description write lock on it while it lives.  A backend reads it at
 * plan time: the lock shows whether the daemon lives, even right after kill -9.
 * The extension's costs and the daemon's cost model use the same rates.
 *
 * Two parts change in place.  stopping is set once.  load is rewritten every
 * GJ_BEAT_MS by one write of all its bytes, which a concurrent read may see
 * incomplete: check is the sum of the bytes before it.  A reader that computes
 * another sum reads again, at most GJ_LOAD_READS times in total, and then treats
 * the load as unknown.  If the daemon dies during a write its lock is gone.
 * ------------------------------------------------------------------------ */

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
	char		daemon_version[32]; /* NUL-terminated */
	struct gj_load load;
};

#endif							/* GPUJOIN_LAYOUT_H */
