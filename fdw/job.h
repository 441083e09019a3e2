/*
 * job.h - the "static" member of the job, docs/job.md.
 */
#ifndef GPUJOIN_JOB_H
#define GPUJOIN_JOB_H

#include "candidate.h"

/* One join of the tree with its keys' columns found. */
typedef struct GjJobJoin
{
	const GjCandidate *tree;
	GjJoin	   *join;			/* rows, left and right columns */
	const char **classes;		/* of its keys, as docs/job.md names them */
} GjJobJoin;

/* joins: plan->njoins entries in post-order. */
extern char *gj_static_json(const GjPlan *plan, const GjCandidate *tree,
							const GjJobJoin *joins);

#endif							/* GPUJOIN_JOB_H */
