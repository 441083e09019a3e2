/*
 * job/json.h - the "static" member of the job, docs/job.md.
 */
#ifndef JOB_JSON_H
#define JOB_JSON_H

#include "gpujoin.h"

/* Version of the job's format, docs/job.md. */
#define GJ_JOB_VERSION 2

/* Returns palloc'd text.  Looks up the names of the tables. */
extern char *gj_static_json(const GjPlan *plan);

#endif							/* JOB_JSON_H */
