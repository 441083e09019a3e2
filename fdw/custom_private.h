/*
 * custom_private.h - converts a GjPlan to and from CustomScan.custom_private.
 */
#ifndef GPUJOIN_CUSTOM_PRIVATE_H
#define GPUJOIN_CUSTOM_PRIVATE_H

#include "gpujoin.h"

extern List *gj_plan_write(const GjPlan *plan);

#endif							/* GPUJOIN_CUSTOM_PRIVATE_H */
