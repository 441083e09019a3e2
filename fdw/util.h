/*
 * util.h - the clock, lists and expressions.
 */
#ifndef UTIL_H
#define UTIL_H

#include "postgres.h"

#include <time.h>

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

/* ---- the clock for timeouts and reported times ---- */

/*
 * Microseconds of the clock by which the daemon says when it wrote its status.
 * PostgreSQL's instr_time will not do: since 19 it may count the processor's ticks.
 */
static inline uint64
gj_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64) now.tv_sec * 1000000 + (uint64) now.tv_nsec / 1000;
}

/* ---- lists whose length is known when they are made ---- */

/*
 * Returns a list of this type and length, whose cells the caller fills in.  A
 * list that grows by lappend() is copied each time it doubles.
 */
static inline List *
gj_make_list(NodeTag type, int length)
{
	List	   *list;

	if (length == 0)
		return NIL;
	list = palloc(offsetof(List, initial_elements) + length * sizeof(ListCell));
	list->type = type;
	list->length = length;
	list->max_length = length;
	list->elements = list->initial_elements;
	return list;
}

/* ---- expressions ---- */

/* The expression without conversions that keep its bytes. */
static inline Expr *
gj_strip_relabel(Expr *expr)
{
	while (expr != NULL && IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	return expr;
}

#endif							/* UTIL_H */
