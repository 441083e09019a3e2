/*
 * util/lists.h - lists whose length is known when they are made.
 */
#ifndef UTIL_LISTS_H
#define UTIL_LISTS_H

#include "postgres.h"

#include "nodes/pg_list.h"

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

#endif							/* UTIL_LISTS_H */
