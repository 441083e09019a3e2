/*
 * plan_speedup.c - how many processes share the work of a parallel path.
 */
#include "postgres.h"

#include <unistd.h>

#include "optimizer/optimizer.h"

#include "plan_speedup.h"

double
gj_divisor(int workers)
{
	double		divisor = workers;

	/* more workers leave the leader less time to help (costsize.c) */
	if (parallel_leader_participation && workers > 0)
		divisor += Max(0, 1.0 - 0.3 * workers);
	return Max(1, divisor);
}

double
gj_speedup(int workers)
{
	static long processors = 0;

	if (processors <= 0)
		processors = Max(1, sysconf(_SC_NPROCESSORS_ONLN));
	return Min(gj_divisor(workers), processors);
}
