/*
 * util.h - the clock, lists and expressions.
 */
#ifndef UTIL_H
#define UTIL_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "portability/instr_time.h"

/* ---- the clock for timeouts and reported times ---- */

/* Microseconds of a monotonic clock. */
static inline uint64
gj_now_us(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
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
