/*
 * feed/kept/states.c - asks the daemon which blocks of an input it has.
 *
 * The opener asks for all inputs at once, and before the daemon has admitted the job,
 * so that a query waits once.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/rel.h"

#include "daemon/connection.h"
#include "daemon/job_session.h"
#include "feed/kept/kept.h"

#define LARGE_SHARE 0.5

/*
 * Receives a frame of this type and at least this length.  Extents that are
 * granted meanwhile are kept for the feed.
 */
static bool
receive(GjLink *link, enum gj_message type, uint32 length)
{
	GjConnection *conn = &link->conn;

	for (;;)
	{
		if (!gj_receive(conn, -1))
			return false;
		if (conn->frame.type != GJ_GRANT)
			break;
		if (!gj_extent_granted(&link->extents))
			return false;
	}
	if (conn->frame.type != type || conn->frame.length < length)
		return gj_fail(conn, "the daemon sent frame %u of %u bytes instead of frame %d",
					   conn->frame.type, conn->frame.length, (int) type);
	return true;
}

static bool
malformed(GjLink *link)
{
	return gj_fail(&link->conn, "the daemon sent a malformed frame on kept columns");
}

/* The part of the input that reads this table; it comes after part number *at. */
static GjPart *
find_part(GjParts *parts, Oid relation, int *at)
{
	for (; *at < parts->n; (*at)++)
	{
		GjPart	   *part = &parts->parts[*at];

		if (part->paged &&
			RelationGetRelid(((ScanState *) part->child)->ss_currentRelation) == relation)
		{
			(*at)++;
			return part;
		}
	}
	return NULL;
}

/* Reads the leaves of KEPT.  Returns false if they are not those of this process. */
static bool
read_leaves(GjKept *kept, GjParts *parts, const char *body)
{
	uint64		groups = 0;
	int			at = 0;

	for (int i = 0; i < kept->nleaves; i++)
	{
		GjKeptLeaf *leaf = &kept->leaves[i];
		struct gj_kept_leaf l;

		memcpy(&l, body + i * sizeof(l), sizeof(l));
		*leaf = (GjKeptLeaf)
		{
			.part = find_part(parts, l.relation, &at),
				.blocks = l.blocks,
				.first = groups,
				.capture = l.capture
		};
		groups += (l.blocks + (uint64) GJ_GROUP_BLOCKS - 1) / GJ_GROUP_BLOCKS;
		if (leaf->part == NULL || l.blocks == 0 || l.capture > l.blocks || groups > kept->groups)
			return false;
	}
	return groups == kept->groups;
}

/* Receives how to feed an input.  feeder->kept is NULL if it is fed like any other. */
static bool
receive_kept(GjFeeder *feeder, GjLink *link, int input, MemoryContext context)
{
	GjConnection *conn = &link->conn;
	GjParts    *parts = feeder->parts[input];
	struct gj_kept body;
	GjKept	   *k;

	feeder->kept[input] = NULL;
	if (!receive(link, GJ_KEPT, sizeof(body)))
		return false;
	memcpy(&body, conn->body, sizeof(body));
	if (body.input != (uint32) input || body.leaves > (uint32) parts->n ||
		body.groups > GJ_MAX_INPUT_GROUPS ||
		conn->frame.length != sizeof(body) + body.leaves * sizeof(struct gj_kept_leaf) + body.groups)
		return malformed(link);
	if (body.mode == GJ_FEED_PLAIN)
		return (body.leaves == 0 && body.groups == 0) || malformed(link);
	if (body.mode != GJ_FEED_KEPT || body.leaves == 0)
		return malformed(link);

	k = MemoryContextAllocZero(context, sizeof(GjKept));
	k->nleaves = body.leaves;
	k->leaves = MemoryContextAlloc(context, body.leaves * sizeof(GjKeptLeaf));
	k->groups = body.groups;
	k->group = -1;
	k->states = MemoryContextAlloc(context, Max(1, body.groups));
	memcpy(k->states, conn->body + conn->frame.length - body.groups, body.groups);
	for (uint32 i = 0; i < k->groups; i++)
		if (k->states[i] > GJ_GROUP_MIXED)
			return malformed(link);
	if (!read_leaves(k, parts, conn->body + sizeof(body)))
		return malformed(link);
	for (int i = 0; i < k->nleaves; i++)
		k->leaves[i].part->by_state = true;
	feeder->kept[input] = k;
	return true;
}

/*
 * Does the daemon lack an input of which the plan expected it to have the greater part?
 * It does if it has less than half of what was expected.  A mixed group counts as a part
 * that it has.  What it wants to capture is no reason for the native plan, else it would
 * never have it: the planner knows that the column is kept, but not in which form.
 */
static bool
is_missing(const GjInput *input, const GjKept *kept)
{
	double		all = 0;
	double		found = 0;

	if (input->kept < LARGE_SHARE)
		return false;
	for (int i = 0; kept != NULL && i < kept->nleaves; i++)
	{
		const GjKeptLeaf *leaf = &kept->leaves[i];

		all += leaf->blocks;
		for (uint32 first = 0; first < leaf->blocks; first += GJ_GROUP_BLOCKS)
			if (first < leaf->capture || kept->states[leaf->first + first / GJ_GROUP_BLOCKS] != GJ_GROUP_FED)
				found += Min(leaf->blocks - first, GJ_GROUP_BLOCKS);
	}
	return found == 0 || found < all * input->kept / 2;
}

/* The native plan takes less time than a job that relies on what the daemon lacks. */
static bool
has_what_plan_relies_on(const GjFeeder *feeder, GjLink *link)
{
	const GjPlan *plan = feeder->plan;

	for (int i = 0; plan->relies_on_kept && i < plan->ninputs; i++)
		if (is_missing(&plan->inputs[i], feeder->kept[i]))
			return gj_fail(&link->conn,
						   "the daemon does not keep the columns that the plan relies on%s",
						   plan->promised ? ": it does once they have been used again" : "");
	return true;
}

bool
gj_kept_open(GjFeeder *feeder, GjLink *link, GjShared *shared, MemoryContext run_context)
{
	bool		sent[GJ_MAX_INPUTS] = {false};

	link->early = 0;
	for (int i = 0; i < feeder->plan->ninputs; i++)
	{
		if (!gj_may_keep(feeder->plan, i))
			continue;
		(void) gj_parts(feeder, i);
		if (gj_kept_allowed(feeder, i) && !gj_kept_send_pages(feeder, link, i, &sent[i]))
			return false;
	}
	if (!gj_link_admitted(link))
		return false;
	for (int i = 0; i < feeder->plan->ninputs; i++)
	{
		if (sent[i] && !receive_kept(feeder, link, i, run_context))
			return false;
		if (shared != NULL)
			shared->kept[i] = feeder->kept[i] != NULL;
	}
	return has_what_plan_relies_on(feeder, link);
}

bool
gj_kept_get(GjFeeder *feeder, int input)
{
	GjLink	   *link = feeder->link;
	struct gj_kept_get body = {.input = input};

	if (!gj_send(&link->conn, GJ_KEPT_GET, &body, sizeof(body), NULL, 0) ||
		!receive_kept(feeder, link, input, feeder->run_context))
		return false;
	return feeder->kept[input] != NULL ||
		gj_fail(&link->conn, "the daemon has changed how an input is fed");
}

/* ---- mixed groups ---- */

uint32
gj_kept_count(const uint8 *bitmap)
{
	return (uint32) pg_popcount((const char *) bitmap, GJ_GROUP_BITMAP);
}

static bool
receive_blocks(GjFeeder *feeder, GjKept *kept, int input, uint32 group)
{
	GjLink	   *link = feeder->link;
	GjConnection *conn = &link->conn;
	struct gj_blocks *map = &kept->map;

	if (!receive(link, GJ_BLOCKS, sizeof(*map)))
		return false;
	memcpy(map, conn->body, sizeof(*map));
	if (map->input != (uint32) input || map->group != group || map->lsns > GJ_GROUP_BLOCKS ||
		conn->frame.length != sizeof(*map) + map->lsns * sizeof(uint64) ||
		map->lsns != gj_kept_count(map->prove))
		return malformed(link);
	if (map->lsns > kept->lsns_size)
	{
		if (kept->lsns != NULL)
			pfree(kept->lsns);
		kept->lsns = MemoryContextAlloc(feeder->run_context, map->lsns * sizeof(uint64));
		kept->lsns_size = map->lsns;
	}
	if (map->lsns > 0)
		memcpy(kept->lsns, conn->body + sizeof(*map), map->lsns * sizeof(uint64));
	return true;
}

bool
gj_kept_enter(GjFeeder *feeder, int input, uint32 group)
{
	GjKept	   *kept = feeder->kept[input];
	struct gj_blocks_get body = {.input = input, .group = group};

	if (kept->group == group)
		return true;
	if (!gj_kept_leave(feeder, input) ||
		!gj_send(&feeder->link->conn, GJ_BLOCKS_GET, &body, sizeof(body), NULL, 0) ||
		!receive_blocks(feeder, kept, input, group))
		return false;
	kept->group = group;
	kept->at = kept->rank = 0;
	kept->proved = (struct gj_proved) {.input = input, .group = group};
	kept->any_proved = false;
	return true;
}

bool
gj_kept_leave(GjFeeder *feeder, int input)
{
	GjKept	   *kept = feeder->kept[input];
	bool		any = kept->any_proved;

	kept->group = -1;
	kept->any_proved = false;
	return !any || gj_send(&feeder->link->conn, GJ_PROVED, NULL, 0, &kept->proved,
						   sizeof(kept->proved));
}

GjKeptBlock
gj_kept_block(GjKept *kept, BlockNumber block, XLogRecPtr *lsn)
{
	uint32		bit = block % GJ_GROUP_BLOCKS;
	uint8		mask = 1 << (bit % 8);
	uint32		rank;

	if (kept->map.kept[bit / 8] & mask)
		return GJ_BLOCK_SERVED;
	if ((kept->map.prove[bit / 8] & mask) == 0)
		return GJ_BLOCK_FEED;
	for (; kept->at + 8 <= bit; kept->at += 8)
		kept->rank += pg_number_of_ones[kept->map.prove[kept->at / 8]];
	rank = kept->rank + pg_number_of_ones[kept->map.prove[bit / 8] & (mask - 1)];
	Assert(rank < kept->map.lsns);
	*lsn = kept->lsns[rank];
	return GJ_BLOCK_PROVE;
}
