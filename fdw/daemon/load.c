/*
 * daemon/load.c - the part of the status file that changes continuously.
 *
 * The daemon writes it in place while backends read it.  Nothing orders a read
 * and a write of the same bytes, so a checksum tells whether all of the bytes
 * come from one write (shm/layout.h).
 */
#include "daemon/load.h"

#include <unistd.h>

/* FNV-1a */
static uint64
sum(const struct gj_load *load)
{
	const uint8 *bytes = (const uint8 *) load;
	uint64		hash = UINT64CONST(0xcbf29ce484222325);

	for (Size i = 0; i < offsetof(struct gj_load, check); i++)
		hash = (hash ^ bytes[i]) * UINT64CONST(0x100000001b3);
	return hash;
}

bool
gj_load_read(int fd, struct gj_load *load)
{
	for (int i = 0; i < GJ_LOAD_READS; i++)
		if (pread(fd, load, sizeof(*load), offsetof(struct gj_status, load)) ==
			(ssize_t) sizeof(*load) && load->check == sum(load))
			return true;
	memset(load, 0, sizeof(*load));
	return false;
}
