/*
 * clock.h - the clock by which waits are bounded and times are reported.
 */
#ifndef GPUJOIN_CLOCK_H
#define GPUJOIN_CLOCK_H

#include "postgres.h"

#include "portability/instr_time.h"

/* Microseconds of a clock that only goes forward. */
static inline uint64
gj_now_us(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}

#endif							/* GPUJOIN_CLOCK_H */
