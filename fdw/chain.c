/*
 * chain.c - values too long for a batch, in extents of their own.
 */
#include "postgres.h"

#include "chain.h"
#include "result_reader.h"

/* Bytes of data that an extent of a chain takes. */
static inline uint64
data_size(const GjExtents *extents)
{
	return extents->size - GJ_CHAIN_DATA_OFF;
}

/* ---- writing ---- */

/* Names an extent of a participant's chain. */
static uint64
chain_extent(int participant, uint32 number)
{
	return (uint64) (uint32) participant << 32 | number;
}

static bool
hand_over(GjExtents *extents, GjChain *chain, int participant)
{
	struct gj_chain_header head = {
		.magic = GJ_CHAIN_MAGIC,
		.version = GJ_LAYOUT_VERSION,
		.chain = chain_extent(participant, chain->extents),
		.bytes = chain->used
	};
	struct gj_chain_filled body = {
		.extent = chain->extent.id,
		.chain = head.chain,
		.bytes = chain->used
	};

	memset(chain->extent.base, 0, GJ_CHAIN_DATA_OFF);
	memcpy(chain->extent.base, &head, sizeof(head));
	gj_extent_unmap(extents, &chain->extent);
	chain->extents++;
	chain->used = 0;
	return gj_send(extents->conn, GJ_CHAIN_FILLED, &body, sizeof(body), NULL, 0);
}

bool
gj_chain_write(GjExtents *extents, GjChain *chain, int participant,
			   const char *value, uint64 length, struct gj_chain_ref *ref)
{
	*ref = (struct gj_chain_ref)
	{
		.header = GJ_CHAIN_REF_BYTE,
			.tag = GJ_CHAIN_REF_TAG,
			.offset = chain->used,
			.chain = chain_extent(participant, chain->extents),
			.length = length
	};
	for (uint64 written = 0; written < length;)
	{
		uint64		bytes;
		uint64		more = (length - written) / data_size(extents);

		if (chain->extent.base == NULL &&
			!gj_extent_take(extents, Min(more, 2), &chain->extent))
			return false;
		bytes = Min(length - written, data_size(extents) - chain->used);
		memcpy(chain->extent.base + GJ_CHAIN_DATA_OFF + chain->used, value + written,
			   bytes);
		chain->used += bytes;
		written += bytes;
		if (chain->used == data_size(extents) && !hand_over(extents, chain, participant))
			return false;
	}
	return true;
}

bool
gj_chain_finish(GjExtents *extents, GjChain *chain, int participant)
{
	return chain->extent.base == NULL || hand_over(extents, chain, participant);
}

/* ---- reading ---- */

/* Where the next extent is mapped: at a free place, or at that of the one that
 * was not used for longest. */
static GjChainExtent *
free_place(GjReader *reader)
{
	GjChainExtent *oldest = &reader->chains.mapped[0];

	for (int i = 0; i < GJ_CHAIN_MAPPED; i++)
	{
		GjChainExtent *e = &reader->chains.mapped[i];

		if (e->extent.base == NULL)
			return e;
		if (e->last_used < oldest->last_used)
			oldest = e;
	}
	return gj_extent_release(&reader->link->extents, &oldest->extent) ? oldest : NULL;
}

/* Maps the extent of the CHAIN_EXTENT frame at hand, which must be this one. */
static bool
map_extent(GjReader *reader, GjChainExtent *e, uint64 chain)
{
	GjLink	   *link = reader->link;
	GjConnection *conn = &link->conn;
	struct gj_chain_extent body;
	struct gj_chain_header head;

	if (conn->frame.length != sizeof(body) || conn->nfds != 1)
		return gj_fail(conn, "the daemon sent a malformed frame");
	memcpy(&body, conn->body, sizeof(body));
	if (body.chain != chain || body.reserved != 0)
		return gj_fail(conn, "the daemon sent another part of a value than was asked for");
	if (!gj_extent_map(&link->extents, gj_take_fd(conn, 0), body.extent, false, &e->extent))
		return false;
	memcpy(&head, e->extent.base, sizeof(head));
	if (head.magic != GJ_CHAIN_MAGIC || head.version != GJ_LAYOUT_VERSION ||
		head.reserved != 0 || head.reserved2 != 0 || head.chain != chain ||
		head.bytes != body.bytes || head.bytes > data_size(&link->extents))
		return gj_fail(conn, "the daemon sent a malformed part of a value");
	e->chain = chain;
	e->bytes = head.bytes;
	return true;
}

/* The extent of a chain, which stays mapped until others are needed. */
static GjChainExtent *
get_extent(GjReader *reader, uint64 chain)
{
	GjLink	   *link = reader->link;
	struct gj_chain_get body = {.chain = chain};
	GjChainExtent *e = NULL;

	for (int i = 0; i < GJ_CHAIN_MAPPED && e == NULL; i++)
		if (reader->chains.mapped[i].extent.base != NULL &&
			reader->chains.mapped[i].chain == chain)
			e = &reader->chains.mapped[i];
	if (e == NULL)
	{
		e = free_place(reader);
		if (e == NULL ||
			!gj_send(&link->conn, GJ_CHAIN_GET, &body, sizeof(body), NULL, 0))
			return NULL;

		/* batches that were on their way come in between */
		for (;;)
		{
			if (!gj_link_receive(link, -1))
				return NULL;
			if (link->conn.frame.type == GJ_CHAIN_EXTENT)
				break;
			if (!gj_reader_stash(reader))
				return NULL;
		}
		if (!map_extent(reader, e, chain))
			return NULL;
	}
	e->last_used = ++reader->chains.uses;
	return e;
}

/* Copies a value from its chain. */
static bool
read_chain(GjReader *reader, const struct gj_chain_ref *ref, char *value)
{
	GjConnection *conn = &reader->link->conn;
	uint64		filled = 0;
	uint32		offset = ref->offset;

	for (uint64 chain = ref->chain; filled < ref->length; chain++, offset = 0)
	{
		GjChainExtent *e = get_extent(reader, chain);
		uint64		bytes;

		if (e == NULL)
			return false;
		if (offset >= e->bytes)
			return gj_fail(conn, "the daemon sent a malformed reference to a value");
		bytes = Min(e->bytes - offset, ref->length - filled);
		memcpy(value + filled, e->extent.base + GJ_CHAIN_DATA_OFF + offset, bytes);
		filled += bytes;

		/* a value goes on in the next extent of the chain if this one is full */
		if (filled < ref->length &&
			(e->bytes != data_size(&reader->link->extents) || (uint32) chain == PG_UINT32_MAX))
			return gj_fail(conn, "the daemon sent a malformed part of a value");
	}
	return true;
}

char *
gj_chain_receive(GjReader *reader, const struct gj_chain_ref *ref)
{
	GjConnection *conn = &reader->link->conn;
	char	   *value;

	if (ref->tag != GJ_CHAIN_REF_TAG || ref->reserved != 0 ||
		ref->length <= VARHDRSZ || ref->length > MaxAllocSize)
	{
		gj_fail(conn, "the daemon sent a malformed reference to a value");
		return NULL;
	}
	value = MemoryContextAlloc(reader->context, ref->length);
	if (!read_chain(reader, ref, value))
		return NULL;
	if (!VARATT_IS_4B_U(value) || VARSIZE_4B(value) != ref->length)
	{
		gj_fail(conn, "the daemon sent a value of another length");
		return NULL;
	}
	return value;
}

bool
gj_chain_release(GjReader *reader)
{
	for (int i = 0; i < GJ_CHAIN_MAPPED; i++)
		if (reader->chains.mapped[i].extent.base != NULL &&
			!gj_extent_release(&reader->link->extents, &reader->chains.mapped[i].extent))
			return false;
	return true;
}
