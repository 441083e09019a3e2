/*
 * util/clock.h - the clock for timeouts and reported times.
 */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

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

#endif							/* UTIL_CLOCK_H */
