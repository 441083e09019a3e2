/*
 * chain.c - values too long for a batch, in extents of their own.
 */
#include "postgres.h"

#include "reader.h"
#include "writer.h"

bool
gj_chain_send(GjWriter *writer, const char *value, uint64 length,
			  struct gj_chain_ref *ref)
{
	GjExtents  *extents = writer->extents;
	uint64		room = extents->size - GJ_CHAIN_DATA_OFF;
	uint64		chain = (uint64) (uint32) writer->participant << 32 |
	(*writer->next_chain)++;
	uint32		parts = (length + room - 1) / room;

	for (uint32 part = 0; part < parts; part++)
	{
		GjExtent	extent;
		uint32		bytes = Min(room, length - part * room);
		struct gj_chain_part head = {
			.magic = GJ_CHAIN_MAGIC,
			.version = GJ_LAYOUT_VERSION,
			.chain = chain,
			.part = part,
			.bytes = bytes
		};
		struct gj_chain_filled body = {.chain = chain, .part = part, .bytes = bytes};

		if (!gj_extent_take(extents, Min(parts - part - 1, 2), &extent))
			return false;
		memset(extent.base, 0, GJ_CHAIN_DATA_OFF);
		memcpy(extent.base, &head, sizeof(head));
		memcpy(extent.base + GJ_CHAIN_DATA_OFF, value + part * room, bytes);
		body.extent = extent.id;
		gj_extent_unmap(extents, &extent);
		if (!gj_send(extents->conn, GJ_CHAIN_FILLED, &body, sizeof(body), NULL, 0))
			return false;
		writer->total_bytes += bytes;
	}
	*ref = (struct gj_chain_ref)
	{
		.header = GJ_CHAIN_REF_BYTE,
			.tag = GJ_CHAIN_REF_TAG,
			.parts = parts,
			.chain = chain,
			.length = length
	};
	return true;
}

/* Copies the parts of the CHAIN_PARTS frame at hand to where they belong. */
static bool
take_parts(GjLink *link, const struct gj_chain_ref *ref, uint32 *next,
		   uint64 *filled, char *value)
{
	GjConnection *conn = &link->conn;
	struct gj_chain_parts parts;

	if (conn->frame.length != sizeof(parts))
		return gj_fail(conn, "the daemon sent a malformed frame");
	memcpy(&parts, conn->body, sizeof(parts));
	if (parts.chain != ref->chain || parts.parts != ref->parts ||
		parts.first != *next || parts.count == 0 ||
		parts.count > ref->parts - *next || (int) parts.count != conn->nfds)
		return gj_fail(conn, "the daemon sent other parts of a value than were asked for");

	for (uint32 i = 0; i < parts.count; i++)
	{
		GjExtent	extent;
		struct gj_chain_part head;

		if (!gj_extent_map(&link->extents, gj_take_fd(conn, i), parts.extents[i],
						   false, &extent))
			return false;
		memcpy(&head, extent.base, sizeof(head));
		if (head.magic != GJ_CHAIN_MAGIC || head.version != GJ_LAYOUT_VERSION ||
			head.chain != ref->chain || head.part != *next ||
			head.bytes > link->extents.size - GJ_CHAIN_DATA_OFF ||
			head.bytes > ref->length - *filled)
			return gj_fail(conn, "the daemon sent a malformed part of a value");
		memcpy(value + *filled, extent.base + GJ_CHAIN_DATA_OFF, head.bytes);
		*filled += head.bytes;
		*next += 1;
		if (!gj_extent_release(&link->extents, &extent))
			return false;
	}
	return true;
}

char *
gj_chain_receive(GjReader *reader, const struct gj_chain_ref *ref)
{
	GjLink	   *link = reader->link;
	struct gj_chain_get body = {.chain = ref->chain};
	uint32		next = 0;
	uint64		filled = 0;
	char	   *value;

	if (ref->tag != GJ_CHAIN_REF_TAG || ref->reserved != 0 ||
		ref->length <= VARHDRSZ || ref->length > MaxAllocSize ||
		ref->parts == 0 || ref->parts > ref->length)
	{
		gj_fail(&link->conn, "the daemon sent a malformed reference to a value");
		return NULL;
	}
	value = MemoryContextAlloc(reader->context, ref->length);
	if (!gj_send(&link->conn, GJ_CHAIN_GET, &body, sizeof(body), NULL, 0))
		return NULL;
	while (next < ref->parts)
	{
		if (!gj_link_receive(link, -1))
			return NULL;

		/* batches that were on their way come in between */
		if (link->conn.frame.type == GJ_CHAIN_PARTS)
		{
			if (!take_parts(link, ref, &next, &filled, value))
				return NULL;
		}
		else if (!gj_reader_stash(reader))
			return NULL;
	}
	if (filled != ref->length || !VARATT_IS_4B_U(value) ||
		VARSIZE_4B(value) != ref->length)
	{
		gj_fail(&link->conn, "the daemon sent a value of another length");
		return NULL;
	}
	return value;
}
