/*
 * frame.h - the messages on the unix socket.
 *
 * A frame is a gj_frame, then length bytes of body; nfds file descriptors
 * travel with its first byte.  One connection belongs to one participant of
 * one job, which ends with the last of them.  Closing a connection is always
 * a correct way to leave.
 */
#ifndef GPUJOIN_FRAME_H
#define GPUJOIN_FRAME_H

#include <stdint.h>

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
	GJ_PAGES = 18,				/* gj_pages, then groups: the visibility map */
	GJ_KEPT_GET = 19,			/* gj_kept_get: how to feed an input */
	GJ_BLOCKS_GET = 20,			/* gj_blocks_get: which blocks of a group to feed */
	GJ_PROVED = 21,				/* gj_proved: blocks that need not be fed */
	GJ_CAPTURED = 22,			/* gj_captured, then blocks: a batch of an input, of
								 * whole blocks; unmapped */
	GJ_FORGET = 23,				/* gj_forget, then the table's name as text; allowed
								 * right after HELLO */
	GJ_SOURCE_GET = 24,			/* gj_source_get, then JSON; allowed right after HELLO */
	GJ_STATUS_RESET = 25,		/* no body; allowed right after HELLO */

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
	GJ_STATUS = 75,				/* JSON, answers STATUS_GET and STATUS_RESET */
	GJ_FILTER = 76,				/* gj_filter, with 1 fd unless there is none,
								 * answers FILTER_GET */
	GJ_KEPT = 77,				/* gj_kept, then states, answers PAGES and KEPT_GET */
	GJ_BLOCKS = 78,				/* gj_blocks, then LSNs, answers BLOCKS_GET */
	GJ_FORGOTTEN = 79,			/* gj_forgotten, answers FORGET */
	GJ_SOURCE = 80				/* gj_source, then JSON, answers SOURCE_GET */
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
	uint32_t	role;			/* pg_authid.oid of the session's user */
	uint32_t	role_share;		/* of the memory budget, for all jobs of the role:
								 * 0 .. GJ_WHOLE_SHARE */
	uint32_t	reserved;		/* must be 0 */
};

#define GJ_OPEN_REWIND	0x1		/* keep inputs: RUN may come again */
#define GJ_WHOLE_SHARE	1000	/* no limit */

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
	GJ_FAIL_ARITHMETIC = 9,		/* a value is out of range or not a number */
	GJ_FAIL_SHARE = 10,			/* the role's share of the memory is in use */
	GJ_FAIL_RESOURCES = 11,		/* the system has no more descriptors, mappings or memory */
	GJ_FAIL_SOURCE = 12			/* a foreign server */
};

struct gj_failed
{
	uint32_t	code;			/* enum gj_failure */
	uint32_t	length;			/* bytes of text that follow, at most 1024 */
	char		sqlstate[8];	/* of GJ_FAIL_SOURCE: five characters, then zeros;
								 * of others, zeros */
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

#endif							/* GPUJOIN_FRAME_H */
