/*
 * daemon/extent.c - shared-memory extents held by this process.
 *
 * A mapped file that can shrink would let its owner kill this backend with
 * SIGBUS. So a file is mapped only after its seals, its size and its
 * allocation have been verified.  The descriptor is closed as soon as the
 * mapping exists.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/connection.h"
#include "daemon/job_session.h"

#ifndef F_GET_SEALS
#define F_GET_SEALS		1034
#define F_SEAL_SEAL		0x0001
#define F_SEAL_SHRINK	0x0002
#define F_SEAL_GROW		0x0004
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE 23
#endif

/* What the kernel maps for one fault of a reader, by default. */
#define LEAST_TOUCHED (64 * 1024)

#define REQUIRED_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)

void
gj_extents_init(GjExtents *extents, GjConnection *conn, Size size)
{
	memset(extents, 0, sizeof(*extents));
	extents->conn = conn;
	extents->size = size;
}

void
gj_extents_close(GjExtents *extents)
{
	for (int i = 0; i < GJ_MAX_MAPPED; i++)
	{
		if (extents->mapped[i] != NULL)
			munmap(extents->mapped[i], extents->size);
		extents->mapped[i] = NULL;
	}
	extents->nready = extents->wanted = extents->nwants = 0;
}

static bool
verify(GjExtents *extents, int fd)
{
	GjConnection *conn = extents->conn;
	struct stat st;
	int			seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & REQUIRED_SEALS) != REQUIRED_SEALS)
		return gj_fail(conn, "an extent of the daemon is not sealed");
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
		st.st_size != (off_t) extents->size)
		return gj_fail(conn, "an extent of the daemon does not have %zu bytes",
					   extents->size);

	/* the kernel fills a hole on first touch, and sends SIGBUS if it cannot */
	if ((Size) st.st_blocks * 512 < extents->size &&
		posix_fallocate(fd, 0, (off_t) extents->size) != 0)
		return gj_fail(conn, "could not allocate the memory of an extent");
	return true;
}

bool
gj_extent_map(GjExtents *extents, int fd, uint64 id, bool writable,
			  GjExtent *extent)
{
	void	   *base = MAP_FAILED;
	int			place = 0;

	while (place < GJ_MAX_MAPPED && extents->mapped[place] != NULL)
		place++;
	if (place == GJ_MAX_MAPPED)
		gj_fail(extents->conn, "the daemon sent more extents than requested");
	else if (verify(extents, fd))
	{
		base = mmap(NULL, extents->size, writable ? PROT_READ | PROT_WRITE : PROT_READ,
					MAP_SHARED, fd, 0);
		if (base == MAP_FAILED)
			gj_fail(extents->conn, "could not map an extent: %m");
	}
	close(fd);
	if (base == MAP_FAILED)
		return false;
	extents->mapped[place] = base;
	extent->id = id;
	extent->base = base;
	return true;
}

void
gj_extent_unmap(GjExtents *extents, GjExtent *extent)
{
	for (int i = 0; i < GJ_MAX_MAPPED; i++)
		if (extents->mapped[i] == extent->base)
			extents->mapped[i] = NULL;
	munmap(extent->base, extents->size);
	extent->base = NULL;
}

bool
gj_extent_release(GjExtents *extents, GjExtent *extent)
{
	struct gj_release body = {.extent = extent->id};

	gj_extent_unmap(extents, extent);
	return gj_send(extents->conn, GJ_RELEASE, &body, sizeof(body), NULL, 0);
}

void
gj_extent_touch(GjExtent *extent, Size offset, Size length, bool writable)
{
	Size		start = TYPEALIGN_DOWN(4096, offset);

	/* only an optimization: kernels before 5.14 do not support it */
	if (length >= LEAST_TOUCHED)
		(void) madvise(extent->base + start, TYPEALIGN(4096, offset + length) - start,
					   writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

/* Requests extents until count of them are granted or requested. */
static bool
want(GjExtents *extents, int count)
{
	struct gj_want body = {0};

	count = Min(count, GJ_FRAME_MAX_FDS);
	if (extents->nready + extents->wanted >= count)
		return true;
	body.count = count - extents->nready - extents->wanted;
	extents->wanted += body.count;
	extents->wants[extents->nwants++] = body.count;
	return gj_send(extents->conn, GJ_WANT, &body, sizeof(body), NULL, 0);
}

bool
gj_extent_granted(GjExtents *extents)
{
	GjConnection *conn = extents->conn;
	struct gj_grant grant;
	int			wanted;

	if (conn->frame.type != GJ_GRANT || conn->frame.length != sizeof(grant))
		return gj_fail(conn, "the daemon sent frame %u instead of extents",
					   conn->frame.type);
	memcpy(&grant, conn->body, sizeof(grant));
	wanted = extents->nwants > 0 ? extents->wants[0] : 0;
	if (grant.count == 0 || (int) grant.count != conn->nfds || grant.count > (uint32) wanted)
		return gj_fail(conn, "the daemon granted %u extents, %d were requested",
					   grant.count, wanted);

	/* one GRANT answers one WANT, whether or not it has as many extents */
	extents->wanted -= wanted;
	extents->nwants--;
	memmove(&extents->wants[0], &extents->wants[1], extents->nwants * sizeof(extents->wants[0]));
	if (grant.count < (uint32) wanted)
		extents->scarce = true;
	for (uint32 i = 0; i < grant.count; i++)
	{
		if (!gj_extent_map(extents, gj_take_fd(conn, i), grant.extents[i], true,
						   &extents->ready[extents->nready]))
			return false;
		extents->nready++;
	}
	return true;
}

bool
gj_extent_take(GjExtents *extents, int ahead, GjExtent *extent)
{
	/* a request that the daemon cannot meet at all fails the job */
	if (!want(extents, extents->scarce ? 1 : ahead + 1))
		return false;
	while (extents->nready == 0)
		if (!gj_receive(extents->conn, -1) || !gj_extent_granted(extents))
			return false;
	*extent = extents->ready[0];
	extents->nready--;
	memmove(&extents->ready[0], &extents->ready[1],
			extents->nready * sizeof(GjExtent));
	return true;
}

bool
gj_extent_return_ready(GjExtents *extents)
{
	while (extents->nready > 0)
		if (!gj_extent_release(extents, &extents->ready[--extents->nready]))
			return false;
	return true;
}
