/*
 * plan_speedup.h - how many processes share the work of a parallel path.
 */
#ifndef GPUJOIN_PLAN_SPEEDUP_H
#define GPUJOIN_PLAN_SPEEDUP_H

/*
 * The number of processes that share the rows of a path, as core counts them.
 */
extern double gj_divisor(int workers);

/* The number of processors that they can use at a time. */
extern double gj_speedup(int workers);

/*
 * The number of workers beyond which a page feed gains nothing, because each
 * process keeps a processor busy.
 */
extern int	gj_most_workers(void);

#endif							/* GPUJOIN_PLAN_SPEEDUP_H */
