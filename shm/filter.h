/*
 * filter.h - filters of keys in shared memory.
 *
 * A filter holds the keys of one column of an input that has been fed
 * completely, its source.  It is for the feed of another input, its target: a
 * target row whose key is not in the filter has no partner in the join, so it
 * need not be fed.  Keys are signed integers: of a fixed column of at most 8
 * bytes its values, of any other column a hash of their bytes.
 *
 * Writer: the daemon, before the FILTER frame.  Readers: all participants that
 * feed the target, each until it sends RELEASE.  A reader copies the header,
 * checks the copy, and computes every position so that it is below the number
 * of bits or words that it has checked.
 */
#ifndef GPUJOIN_FILTER_H
#define GPUJOIN_FILTER_H

#include <stdint.h>

#define GJ_FILTER_MAGIC		0x314b4a47	/* "GJK1" */
#define GJ_MAX_FILTERS		64	/* of a job */
#define GJ_MAX_INPUT_FILTERS 8	/* of one target */

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
	GJ_FILTER_BLOOM = 2,

	/*
	 * The same, of keys that are hashes of n bytes: all of a wider fixed value,
	 * or those of a varlena value without its header and padding.  In
	 * arithmetic modulo 2^64:
	 *
	 * h = n * GJ_HASH_1; for each word w: h = (h ^ w) * GJ_HASH_2; h ^= h >> 32
	 *
	 * Words are 8 bytes, little-endian: those at 0, 8, 16 and so on that are
	 * whole, then the last 8 bytes if n is no multiple of 8.  Less than 8 bytes
	 * are one word, with zeros above them.  The key is h as a signed integer. */
	GJ_FILTER_BLOOM_BYTES = 3
};

#define GJ_BLOOM_BITS 4
#define GJ_HASH_1 UINT64_C(0x9e3779b97f4a7c15)
#define GJ_HASH_2 UINT64_C(0xd6e8feb86659fd93)

/* At offset 0 of an extent with a filter; the data follow at GJ_FILTER_DATA_OFF. */
struct gj_filter_header
{
	uint32_t	magic;			/* GJ_FILTER_MAGIC */
	uint16_t	version;		/* GJ_LAYOUT_VERSION */
	uint16_t	kind;			/* enum gj_filter_kind, not GJ_FILTER_NONE */
	uint32_t	bytes;			/* of data, a multiple of 8; 0: no keys */
	uint32_t	reserved;		/* must be 0 */
	uint64_t	keys;			/* rows of the source with a key; 0: no row passes */
	int64_t		min;			/* the least key */
	int64_t		max;			/* the greatest key */
	uint64_t	seed;			/* of a Bloom filter; else 0 */
};

#define GJ_FILTER_DATA_OFF	64

#endif							/* GPUJOIN_FILTER_H */
