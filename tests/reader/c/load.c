/*
 * load.c - tries daemon/status_file.c of the extension: the input is what readings of the
 * status file return, one after the other, and the result how many beats the
 * load has that was taken, or 0 for none.  In bits 56 and up it says how often
 * the file was read.
 */
#include "server.h"

#include "../../../fdw/daemon/status.h"

static const uint8 *rest;
static size_t rest_size;
static int	readings;

ssize_t
pread(int fd, void *to, size_t size, off_t offset)
{
	size_t		n = Min(size, rest_size);

	if (offset != offsetof(struct gj_status, load))
		abort();
	memcpy(to, rest, n);
	rest += n;
	rest_size -= n;
	readings++;
	return n;
}

uint64
try_input(const uint8 *data, size_t size)
{
	struct gj_load load;

	rest = data;
	rest_size = size;
	readings = 0;
	if (!gj_load_read(0, &load) && load.beats != 0)
		abort();
	return load.beats | (uint64) readings << 56;
}
