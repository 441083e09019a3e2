/*
 * result/long_values.c - reads values too long for a batch from their chains.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "compat.h"
#include "daemon/connection.h"
#include "result/result.h"

/*
 * Finds the entry for the next extent: a free one, or the least recently used.
 */
static GjChainExtent *
free_place(GjChainReader *chains)
{
	GjChainExtent *oldest = &chains->mapped[0];

	for (int i = 0; i < GJ_CHAIN_MAPPED; i++)
	{
		GjChainExtent *e = &chains->mapped[i];

		if (e->extent.base == NULL)
			return e;
		if (e->last_used < oldest->last_used)
			oldest = e;
	}
	return gj_extent_release(&chains->link->extents, &oldest->extent) ? oldest : NULL;
}

/*
 * Maps the extent of the current CHAIN_EXTENT frame, which must be the given
 * one.
 */
static bool
map_extent(GjChainReader *chains, GjChainExtent *e, uint64 chain)
{
	GjLink	   *link = chains->link;
	GjConnection *conn = &link->conn;
	struct gj_chain_extent body;
	struct gj_chain_header head;

	if (conn->frame.length != sizeof(body) || conn->nfds != 1)
		return gj_fail(conn, "the daemon sent a malformed frame");
	memcpy(&body, conn->body, sizeof(body));
	if (body.chain != chain || body.reserved != 0)
		return gj_fail(conn, "the daemon sent a different part of a value than requested");
	if (!gj_extent_map(&link->extents, gj_take_fd(conn, 0), body.extent, false, &e->extent))
		return false;
	memcpy(&head, e->extent.base, sizeof(head));
	if (head.magic != GJ_CHAIN_MAGIC || head.version != GJ_LAYOUT_VERSION ||
		head.reserved != 0 || head.reserved2 != 0 || head.chain != chain ||
		head.bytes != body.bytes || head.bytes > gj_chain_capacity(&link->extents))
		return gj_fail(conn, "the daemon sent a malformed part of a value");
	e->chain = chain;
	e->bytes = head.bytes;
	return true;
}

/* Returns an extent of a chain.  It stays mapped until its entry is reused. */
static GjChainExtent *
get_extent(GjChainReader *chains, uint64 chain)
{
	GjLink	   *link = chains->link;
	struct gj_chain_get body = {.chain = chain};
	GjChainExtent *e = NULL;

	for (int i = 0; i < GJ_CHAIN_MAPPED && e == NULL; i++)
		if (chains->mapped[i].extent.base != NULL &&
			chains->mapped[i].chain == chain)
			e = &chains->mapped[i];
	if (e == NULL)
	{
		e = free_place(chains);
		if (e == NULL ||
			!gj_send(&link->conn, GJ_CHAIN_GET, &body, sizeof(body), NULL, 0))
			return NULL;

		/* batches in flight may arrive first */
		for (;;)
		{
			if (!gj_link_receive(link, -1))
				return NULL;
			if (link->conn.frame.type == GJ_CHAIN_EXTENT)
				break;
			if (!chains->stash(chains->stash_arg))
				return NULL;
		}
		if (!map_extent(chains, e, chain))
			return NULL;
	}
	e->last_used = ++chains->uses;
	return e;
}

/* Copies a value from its chain. */
static bool
read_chain(GjChainReader *chains, const struct gj_chain_ref *ref, char *value)
{
	GjConnection *conn = &chains->link->conn;
	uint64		filled = 0;
	uint32		offset = ref->offset;

	for (uint64 chain = ref->chain; filled < ref->length; chain++, offset = 0)
	{
		GjChainExtent *e = get_extent(chains, chain);
		uint64		bytes;

		if (e == NULL)
			return false;
		if (offset >= e->bytes)
			return gj_fail(conn, "the daemon sent a malformed reference to a value");
		bytes = Min(e->bytes - offset, ref->length - filled);
		memcpy(value + filled, e->extent.base + GJ_CHAIN_DATA_OFF + offset, bytes);
		filled += bytes;

		/* a value may continue in the next extent only if this one is full */
		if (filled < ref->length &&
			(e->bytes != gj_chain_capacity(&chains->link->extents) || (uint32) chain == PG_UINT32_MAX))
			return gj_fail(conn, "the daemon sent a malformed part of a value");
	}
	return true;
}

char *
gj_chain_receive(GjChainReader *chains, const struct gj_chain_ref *ref)
{
	GjConnection *conn = &chains->link->conn;
	char	   *value;

	if (ref->tag != GJ_CHAIN_REF_TAG || ref->reserved != 0 ||
		ref->length <= VARHDRSZ || ref->length > MaxAllocSize)
	{
		gj_fail(conn, "the daemon sent a malformed reference to a value");
		return NULL;
	}
	value = MemoryContextAlloc(chains->context, ref->length);
	if (!read_chain(chains, ref, value))
		return NULL;
	if (!VARATT_IS_4B_U(value) || VARSIZE_4B(value) != ref->length)
	{
		gj_fail(conn, "the daemon sent a value of the wrong length");
		return NULL;
	}
	return value;
}

bool
gj_chain_release(GjChainReader *chains)
{
	for (int i = 0; i < GJ_CHAIN_MAPPED; i++)
		if (chains->mapped[i].extent.base != NULL &&
			!gj_extent_release(&chains->link->extents, &chains->mapped[i].extent))
			return false;
	return true;
}
