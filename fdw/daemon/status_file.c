/*
 * daemon/status_file.c - is the daemon alive, and how fast is it?
 *
 * The planner asks this, so the answer must take microseconds only.  It comes
 * from the status file, not from a connection.  A living daemon holds a lock
 * on that file, which the kernel releases when the process ends for any reason
 * (shm/layout.h).
 *
 * A session keeps the file open, which halves the cost.  A starting daemon
 * always creates a new file and never reuses an old one, and a daemon with new
 * rates puts a new file in place.  So once a file has lost its lock, it stays
 * useless, and the session opens the path again.
 */
#include "postgres.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/fd.h"

#include "daemon/status.h"
#include "job/job.h"
#include "options.h"
#include "util.h"

/* ---- the part of the status file that changes continuously ---- */

/*
 * The daemon writes it in place while backends read it.  Nothing orders a read
 * and a write of the same bytes, so a checksum tells whether all of the bytes
 * come from one write (shm/layout.h).
 */

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

static bool
is_whole(const struct gj_load *load)
{
	return load->check == sum(load);
}

bool
gj_load_read(int fd, struct gj_load *load)
{
	for (int i = 0; i < GJ_LOAD_READS; i++)
		if (pread(fd, load, sizeof(*load), offsetof(struct gj_status, load)) ==
			(ssize_t) sizeof(*load) && is_whole(load))
			return true;
	memset(load, 0, sizeof(*load));
	return false;
}

/* ---- status file ---- */

#define MAX_CORES 65536

/*
 * A daemon whose last heartbeat is older than this gets no jobs: it has missed
 * fifty, and a backend would wait for it for long.
 */
#define STALE_MS 5000

static int	kept_fd = -1;		/* of a status file that was valid; -1: none */
static char kept_socket[MAXPGPATH]; /* gpujoin.socket then */

static bool
is_write_locked(int fd)
{
	struct flock lock = {
		.l_type = F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = 0,
		.l_len = 0,				/* to the end of the file */
	};

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

/* Only root and the server's own user may name the daemon to trust. */
static bool
is_trusted_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		(st.st_uid == 0 || st.st_uid == geteuid()) &&
		(st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool
is_rate(double ns)
{
	return isfinite(ns) && ns >= 0;
}

static bool
is_valid(const struct gj_status *status)
{
	if (status->cores < 1 || status->cores > MAX_CORES ||
		status->processors < 1 || status->processors > MAX_CORES)
		return false;
	if (status->extent_size < GJ_EXTENT_MIN_SIZE || status->extent_size > GJ_EXTENT_MAX_SIZE)
		return false;
	for (int i = 0; i < GJ_RATE_POINTS; i++)
		if (!is_rate(status->build_ns[i]) || !is_rate(status->probe_ns[i]))
			return false;
	for (int i = 0; i < GJ_GROUP_POINTS; i++)
		if (!is_rate(status->group_ns[i]))
			return false;
	if (!(status->cached_probe_ns > 0) || !(status->memory_load_ns > 0) ||
		!is_rate(status->cached_probe_ns) || !is_rate(status->memory_load_ns) ||
		!is_rate(status->cached_bytes) || !is_rate(status->uncached_bytes) ||
		status->cached_bytes < 1 || status->uncached_bytes <= status->cached_bytes)
		return false;
	return is_rate(status->column_ns) && is_rate(status->function_ns) &&
		is_rate(status->operation_ns) && is_rate(status->condition_ns) &&
		memchr(status->daemon_version, '\0', sizeof(status->daemon_version)) != NULL;
}

/* A load of the future comes from another clock. */
static bool
is_stale(const struct gj_load *load)
{
	uint64		now = gj_now_us();

	return load->beats != 0 && load->at_us < now &&
		now - load->at_us > (uint64) STALE_MS * 1000;
}

static GjDaemon
state_of(int fd, struct gj_status *status)
{
	ssize_t		length;

	if (!is_write_locked(fd))
		return GJ_DAEMON_ABSENT;
	length = pread(fd, status, sizeof(*status), 0);

	/* every version begins with magic and version */
	if (length < (ssize_t) (offsetof(struct gj_status, version) + sizeof(status->version)) ||
		status->magic != GJ_STATUS_MAGIC)
		return GJ_DAEMON_ABSENT;
	if (status->version != GJ_LAYOUT_VERSION)
		return GJ_DAEMON_OTHER_VERSION;
	if (length != (ssize_t) sizeof(*status) || !is_valid(status) || status->stopping)
		return GJ_DAEMON_ABSENT;
	if (status->protocol_version != GJ_PROTOCOL_VERSION || status->job_version != GJ_JOB_VERSION)
		return GJ_DAEMON_OTHER_VERSION;
	if (!is_whole(&status->load))
		(void) gj_load_read(fd, &status->load); /* all zero if unknown */
	return is_stale(&status->load) ? GJ_DAEMON_SILENT : GJ_DAEMON_READY;
}

static void
forget(void)
{
	if (kept_fd < 0)
		return;
	close(kept_fd);
	kept_fd = -1;
	ReleaseExternalFD();
	gj_breaker_forget();		/* the next file is another daemon's */
}

/*
 * Does not use OpenTransientFile(), because the file may stay open past the end of
 * the transaction.
 */
int
gj_open_beside(const char *socket, const char *suffix)
{
	char		path[MAXPGPATH];
	int			fd;

	if (snprintf(path, sizeof(path), "%s.%s", socket, suffix) >= (int) sizeof(path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && !is_trusted_file(fd))
	{
		close(fd);
		return -1;
	}
	return fd;
}

bool
gj_daemon_load(const char *socket, struct gj_load *load)
{
	int			fd = gj_open_beside(socket, "status");
	bool		known;

	memset(load, 0, sizeof(*load));
	if (fd < 0)
		return false;
	known = is_write_locked(fd) && gj_load_read(fd, load);
	close(fd);
	return known;
}

GjDaemon
gj_daemon_state(struct gj_status *status)
{
	GjDaemon	state;
	int			fd;

	if (gj_socket == NULL || gj_socket[0] == '\0')
		return GJ_DAEMON_ABSENT;
	if (kept_fd >= 0 && strcmp(kept_socket, gj_socket) == 0)
	{
		state = state_of(kept_fd, status);
		if (state != GJ_DAEMON_ABSENT)
			return state;
	}
	forget();
	fd = gj_open_beside(gj_socket, "status");
	if (fd < 0)
		return GJ_DAEMON_ABSENT;
	state = state_of(fd, status);
	if (state != GJ_DAEMON_ABSENT && AcquireExternalFD())
	{
		kept_fd = fd;
		strlcpy(kept_socket, gj_socket, sizeof(kept_socket));
	}
	else
		close(fd);
	return state;
}

/* ---- when a daemon that failed is asked again ---- */

/*
 * A join that runs once for each row of an outer query would otherwise wait for
 * a stopped daemon, or for memory, once for each row.  So each backend remembers
 * failures, across nodes and queries.  After one it leaves the daemon alone for
 * as long as the failure took, twice as long after the next one, and so on up to
 * MAX_PAUSE_US.  So it soon asks again after a refusal that cost no time, and it
 * uses a daemon that is back within seconds.  A success ends the pause, and so does
 * a new daemon, which the planner notices by its status file.
 *
 * A daemon that lacks memory or descriptors for one job may have enough for a
 * smaller one.
 */

#define MAX_PAUSE_US	UINT64CONST(8000000)
#define MAX_DOUBLINGS	20

typedef struct Outage
{
	int			failures;		/* in a row; 0: none */
	uint64		until_us;		/* do not ask before */
	double		bytes;			/* GJ_FAULT_BUSY: of the smallest job refused */
	char		reason[GJ_REASON_SIZE]; /* of the latest one */
} Outage;

static Outage outages[GJ_NFAULTS];
static char outage_socket[sizeof(((GjConnection *) NULL)->socket)];

static const char *const lately[GJ_NFAULTS] = {
	[GJ_FAULT_SILENT] = "the daemon did not answer lately",
	[GJ_FAULT_BUSY] = "the daemon had no room for such a job lately",
	[GJ_FAULT_FAILING] = "the daemon failed lately",
};

void
gj_breaker_forget(void)
{
	memset(outages, 0, sizeof(outages));
}

/* Another socket has another daemon. */
static void
select_socket(const char *socket)
{
	if (socket == NULL)
		socket = "";
	if (strncmp(outage_socket, socket, sizeof(outage_socket) - 1) == 0)
		return;
	gj_breaker_forget();
	strlcpy(outage_socket, socket, sizeof(outage_socket));
}

const char *
gj_breaker_reason(const char *socket, double bytes, GjFault *fault)
{
	static char text[GJ_REASON_SIZE];

	select_socket(socket);
	for (int i = GJ_FAULT_NONE + 1; i < GJ_NFAULTS; i++)
	{
		const Outage *outage = &outages[i];

		if (outage->failures == 0 || gj_now_us() >= outage->until_us ||
			(i == GJ_FAULT_BUSY && bytes < outage->bytes))
			continue;
		snprintf(text, sizeof(text), "%s: %s", lately[i], outage->reason);
		*fault = (GjFault) i;
		return text;
	}
	return NULL;
}

void
gj_breaker_failed(const char *socket, double bytes, GjFault fault,
				  uint64 cost_us, const char *reason)
{
	Outage	   *outage = &outages[fault];
	uint64		now = gj_now_us();

	if (fault == GJ_FAULT_NONE || fault == GJ_FAULT_SOURCE)
		return;
	select_socket(socket);
	/* an old failure says nothing about this one */
	if (now > outage->until_us + MAX_PAUSE_US)
		outage->failures = 0;
	outage->bytes = outage->failures == 0 ? bytes : Min(outage->bytes, bytes);
	outage->until_us = now +
		Min(Min(cost_us, MAX_PAUSE_US) << Min(outage->failures, MAX_DOUBLINGS), MAX_PAUSE_US);
	outage->failures = Min(outage->failures, MAX_DOUBLINGS) + 1;
	strlcpy(outage->reason, reason, sizeof(outage->reason));
}

void
gj_breaker_succeeded(const char *socket, double bytes)
{
	select_socket(socket);
	for (int i = GJ_FAULT_NONE + 1; i < GJ_NFAULTS; i++)
		if (i != GJ_FAULT_BUSY || bytes >= outages[i].bytes)
			outages[i].failures = 0;
}
