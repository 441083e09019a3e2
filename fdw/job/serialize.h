/*
 * job/serialize.h - converts a GjPlan to and from CustomScan.custom_private.
 */
#ifndef JOB_SERIALIZE_H
#define JOB_SERIALIZE_H

#include "gpujoin.h"

extern List *gj_plan_write(const GjPlan *plan);

#endif							/* JOB_SERIALIZE_H */
