/*
 * plan/cost/speedup.h - how many processes share the work of a parallel path.
 */
#ifndef PLAN_COST_SPEEDUP_H
#define PLAN_COST_SPEEDUP_H

/*
 * The number of processes that share the rows of a path, as core counts them.
 */
extern double gj_divisor(int workers);

/*
 * Sets the number of processors, which the daemon knows: a control group may give
 * fewer of them than the machine has, and reading that takes too long to plan.  The
 * daemon's own setting does not count, because it does not limit backends.
 */
extern void gj_set_processors(int available);

/* The number of processors that they can use at a time. */
extern double gj_speedup(int workers);

/*
 * The number of workers beyond which a page feed gains nothing, because each
 * process keeps a processor busy.
 */
extern int	gj_most_workers(void);

#endif							/* PLAN_COST_SPEEDUP_H */
