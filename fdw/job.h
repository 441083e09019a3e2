/*
 * job.h - the "static" member of the job, docs/job.md.
 */
#ifndef GPUJOIN_JOB_H
#define GPUJOIN_JOB_H

#include "gpujoin.h"

/* Palloc'd; looks up the names of the tables. */
extern char *gj_static_json(const GjPlan *plan);

#endif							/* GPUJOIN_JOB_H */
