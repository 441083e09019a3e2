/*
 * clock.h - the clock for timeouts and reported times.
 */
#ifndef GPUJOIN_CLOCK_H
#define GPUJOIN_CLOCK_H

#include "postgres.h"

#include "portability/instr_time.h"

/* Microseconds of a monotonic clock. */
static inline uint64
gj_now_us(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}

#endif							/* GPUJOIN_CLOCK_H */
