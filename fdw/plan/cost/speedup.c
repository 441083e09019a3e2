/*
 * plan/cost/speedup.c - how many processes share the work of a parallel path.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"

#include "plan/cost/speedup.h"

/* as the daemon's status file said when it was last read */
static int	processors = 1;

double
gj_divisor(int workers)
{
	double		divisor = workers;

	/* more workers leave the leader less time to help (costsize.c) */
	if (parallel_leader_participation && workers > 0)
		divisor += Max(0, 1.0 - 0.3 * workers);
	return Max(1, divisor);
}

void
gj_set_processors(int available)
{
	processors = available;
}

double
gj_speedup(int workers)
{
	bool		leader = workers == 0 || parallel_leader_participation;

	return Min(workers + leader, processors);
}

int
gj_most_workers(void)
{
	return Max(1, processors - (parallel_leader_participation ? 1 : 0));
}
