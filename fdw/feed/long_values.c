/*
 * feed/long_values.c - writes values too long for a batch into extents of their own.
 */
#include "postgres.h"

#include "daemon/frame.h"
#include "feed/long_values.h"

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
		uint64		more = (length - written) / gj_chain_capacity(extents);

		if (chain->extent.base == NULL &&
			!gj_extent_take(extents, Min(more, 2), &chain->extent))
			return false;
		bytes = Min(length - written, gj_chain_capacity(extents) - chain->used);
		memcpy(chain->extent.base + GJ_CHAIN_DATA_OFF + chain->used, value + written,
			   bytes);
		chain->used += bytes;
		written += bytes;
		if (chain->used == gj_chain_capacity(extents) && !hand_over(extents, chain, participant))
			return false;
	}
	return true;
}

bool
gj_chain_finish(GjExtents *extents, GjChain *chain, int participant)
{
	return chain->extent.base == NULL || hand_over(extents, chain, participant);
}
