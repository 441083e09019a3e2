/*
 * job/key_hash.h - the key of bytes in a filter (shm/filter.h).
 */
#ifndef JOB_KEY_HASH_H
#define JOB_KEY_HASH_H

#include "postgres.h"

#include "job/job.h"

static inline uint64
gj_hash_word(uint64 h, uint64 word)
{
	h = (h ^ word) * GJ_HASH_2;
	return h ^ h >> 32;
}

static inline uint64
gj_load_word(const char *bytes)
{
	uint64		word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/*
 * Less than 8 bytes as one word, with zeros above them.  Loads may overlap: they
 * have the same byte at the same place.
 */
static inline uint64
gj_load_short(const char *bytes, uint32 n)
{
	const uint8 *b = (const uint8 *) bytes;
	uint32		first;
	uint32		last;

	if (n >= sizeof(uint32))
	{
		memcpy(&first, bytes, sizeof(first));
		memcpy(&last, bytes + n - sizeof(last), sizeof(last));
		return first | (uint64) last << 32 >> 8 * (sizeof(uint64) - n);
	}
	if (n == 0)
		return 0;
	return b[0] | (uint64) b[n / 2] << 8 * (n / 2) | (uint64) b[n - 1] << 8 * (n - 1);
}

static inline int64
gj_hash_bytes(const char *bytes, uint32 n)
{
	uint64		h = n * GJ_HASH_1;
	uint32		at = 0;

	if (n < sizeof(uint64))
		return gj_hash_word(h, gj_load_short(bytes, n));
	for (; n - at >= sizeof(uint64); at += sizeof(uint64))
		h = gj_hash_word(h, gj_load_word(bytes + at));
	if (at < n)
		h = gj_hash_word(h, gj_load_word(bytes + n - sizeof(uint64)));
	return h;
}

#endif							/* JOB_KEY_HASH_H */
