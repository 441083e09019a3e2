/*
 * cost.c - what the steps of an offloaded join cost, in the planner's unit.
 *
 * What the backend does is priced by settings, what the daemon does by the
 * rates that it measured on this machine and published in its status file;
 * it chooses among algorithms by the same rates.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/spccache.h"

#include "cost.h"

#define FIRST_RATE_LOG2 10		/* layout.h: build sizes 2^(10 + 2 i) */
#define RATE_LOG2_STEP 2
#define RATED_COLUMNS 2			/* payloads that the rates include */

double
gj_divisor(int workers)
{
	double		divisor = workers;

	/* the leader helps the less, the more workers it has to serve (costsize.c) */
	if (parallel_leader_participation && workers > 0)
		divisor += Max(0, 1.0 - 0.3 * workers);
	return Max(1, divisor);
}

Cost
gj_page_feed_cost(PlannerInfo *root, RelOptInfo *rel, double weight, int workers)
{
	double		page_cost;
	Cost		cpu;

	/* a page feed is a sequential scan, whoever reads the pages */
	get_tablespace_page_costs(rel->reltablespace, NULL, &page_cost);
	cpu = rel->tuples * (gj_page_row_cost + rel->baserestrictcost.per_tuple) +
		rel->rows * weight * gj_page_column_cost;
	return (enable_seqscan ? 0 : disable_cost) +
		page_cost * rel->pages + rel->baserestrictcost.startup + cpu / gj_divisor(workers);
}

Cost
gj_child_feed_cost(const Path *child, double weight)
{
	return child->total_cost +
		child->rows * (gj_child_row_cost + weight * gj_child_column_cost);
}

/* The rates for a build side of so many rows, between the measured sizes. */
void
gj_rate(const struct gj_status *status, GjCandidate *tree)
{
	double		at = (log2(Max(tree->rows, 1)) - FIRST_RATE_LOG2) / RATE_LOG2_STEP;
	int			i;

	at = Min(Max(at, 0), GJ_RATE_POINTS - 1);
	i = Min((int) at, GJ_RATE_POINTS - 2);
	at -= i;
	tree->build_ns = status->build_ns[i] + at * (status->build_ns[i + 1] - status->build_ns[i]);
	tree->probe_ns = status->probe_ns[i] + at * (status->probe_ns[i + 1] - status->probe_ns[i]);
}

static double
hash_ns(const GjCandidate *build, const GjCandidate *probe)
{
	return build->rows * build->build_ns + probe->rows * build->probe_ns;
}

Cost
gj_daemon_cost(const struct gj_status *status, const GjCandidate *left,
			   const GjCandidate *right, double rows, int columns)
{
	double		ns = Min(hash_ns(left, right), hash_ns(right, left));

	ns += rows * Max(0, columns - RATED_COLUMNS) * status->column_ns;
	return ns / status->cores * gj_ns_cost;
}

Cost
gj_job_cost(const GjCandidate *tree)
{
	return gj_startup_cost + tree->feed_cost + tree->join_cost;
}
