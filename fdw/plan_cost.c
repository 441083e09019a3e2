/*
 * plan_cost.c - what the steps of an offloaded join cost, in the planner's unit.
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

#include "plan_cost.h"

#define FIRST_RATE_LOG2 10		/* layout.h: build sizes 2^(10 + 2 i) */
#define RATE_LOG2_STEP 2
#define MIN_SHARE 0.01			/* no reading makes a job cost without end */
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
gj_page_scan_cost(RelOptInfo *rel, int workers)
{
	double		page_cost;

	get_tablespace_page_costs(rel->reltablespace, NULL, &page_cost);

	/* a page feed is a sequential scan, whoever reads the pages */
	return (enable_seqscan ? 0 : disable_cost) +
		page_cost * rel->pages + rel->baserestrictcost.startup +
		rel->tuples * rel->baserestrictcost.per_tuple / gj_divisor(workers);
}

Cost
gj_page_fill_cost(RelOptInfo *rel, double weight, int walk, int workers)
{
	return (rel->tuples * (gj_page_row_cost + walk * gj_page_walk_cost) +
			rel->rows * weight * gj_page_column_cost) / gj_divisor(workers);
}

Cost
gj_child_fill_cost(const Path *child, double weight)
{
	return child->rows * (gj_child_row_cost + weight * gj_child_column_cost);
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

/*
 * Of how many cores the daemon's next job may expect the work.
 *
 * It divides its threads among the jobs that run, and with those that were
 * there first and still wait.  Where its threads get a smaller part of the
 * processor time that they could use than a backend does, that counts too; what
 * both lack slows the native plan down alike.
 */
static double
cores(const struct gj_status *status)
{
	const struct gj_load *load = &status->load;
	double		jobs = 1.0 + load->running + load->queued;
	double		daemon_share = load->processor_share / 1000.0;
	double		backend_share;

	if (load->beats == 0 || load->threads == 0)
		return status->cores;	/* unknown */
	backend_share = Min(1, status->cores / Max(1, load->runnable / 100.0));
	return Min(load->threads, status->cores) / jobs *
		Max(MIN_SHARE, Min(1, daemon_share / backend_share));
}

Cost
gj_daemon_cost(const struct gj_status *status, const GjCandidate *left,
			   const GjCandidate *right, double rows, int columns)
{
	double		ns = Min(hash_ns(left, right), hash_ns(right, left));

	ns += rows * Max(0, columns - RATED_COLUMNS) * status->column_ns;
	return ns / cores(status) * gj_ns_cost;
}

/* What is not PostgreSQL's own and so may be estimated worse. */
static Cost
with_margin(Cost cost)
{
	return cost * (1 + gj_cost_margin);
}

Cost
gj_job_cost(const GjCandidate *tree)
{
	return tree->scan_cost +
		with_margin(gj_startup_cost + tree->feed_cost - tree->scan_cost + tree->join_cost);
}

Cost
gj_return_cost(double rows, double weight)
{
	return with_margin(rows * (gj_return_row_cost + weight * gj_return_column_cost));
}

/*
 * The smaller a result is expected to be, the larger is the factor by which it
 * may be larger, because selectivities that are taken for independent have
 * been multiplied.  The geometric mean of result and inputs grants a result of
 * a thousandth of the inputs a factor of 32, one of a tenth a factor of 3 and
 * one as large as the inputs none.  A fixed fraction of the inputs as a lower
 * bound would distrust selective joins most and the middle, where the return
 * is what matters, not at all.
 */
double
gj_priced_rows(const GjCandidate *tree)
{
	return Max(tree->rows, sqrt(tree->rows * tree->input_rows));
}
