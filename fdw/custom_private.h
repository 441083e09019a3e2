/*
 * custom_private.h - a GjPlan as the list that CustomScan.custom_private holds.
 */
#ifndef GPUJOIN_CUSTOM_PRIVATE_H
#define GPUJOIN_CUSTOM_PRIVATE_H

#include "gpujoin.h"

extern List *gj_plan_write(const GjPlan *plan);

#endif							/* GPUJOIN_CUSTOM_PRIVATE_H */
