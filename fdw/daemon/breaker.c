/*
 * daemon/breaker.c - when a daemon that failed is asked again.
 *
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
#include "postgres.h"

#include "daemon/breaker.h"

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

	if (fault == GJ_FAULT_NONE)
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
