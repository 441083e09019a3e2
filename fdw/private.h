/*
 * private.h - a GjPlan as the list that CustomScan.custom_private holds.
 */
#ifndef GPUJOIN_PRIVATE_H
#define GPUJOIN_PRIVATE_H

#include "gpujoin.h"

extern List *gj_plan_write(const GjPlan *plan);

#endif							/* GPUJOIN_PRIVATE_H */
