/*
 * feed/parts.h - the plans that deliver the rows of an input.
 *
 * That is one plan, or, of a partitioned table or an inheritance tree, the children
 * of an Append: its leaves.  Each leaf that is a sequential scan of a heap is read
 * page by page like a table that is an input by itself.
 */
#ifndef FEED_PARTS_H
#define FEED_PARTS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "feed/feed.h"

typedef struct GjPart
{
	PlanState  *child;
	bool		paged;			/* its rows are read from heap pages */
	bool		whole;			/* one participant feeds it; else each one feeds a share */
	bool		by_state;		/* it is fed by state: feed/kept */
} GjPart;

/* Those that are to be fed in this scan. */
struct GjParts
{
	AppendState *append;		/* NULL: the input's own plan is the only part */
	bool		leaves;			/* their columns may have other numbers than the input's */
	bool		filtered;		/* the filters of the input's keys were asked for */
	int			n;
	GjPart	   *parts;
};

/*
 * Returns the parts of an input.  Without those that an Append prunes, so this evaluates
 * the parameters by which it does.
 */
extern GjParts *gj_parts(GjFeeder *feeder, int input);

/*
 * Returns the input's first ncolumns columns with their numbers in a part that is read
 * from heap pages, in the current memory context.
 */
extern const GjColumn *gj_part_columns(const GjFeeder *feeder, int input, const GjPart *part,
									   int ncolumns);

/* Asks for the filters of the input's keys, once. */
extern bool gj_get_filters(GjFeeder *feeder, int input);

/* Are there parts that are not fed by state? */
static inline bool
gj_has_others(const GjParts *parts)
{
	for (int i = 0; i < parts->n; i++)
		if (!parts->parts[i].by_state)
			return true;
	return false;
}

/* Which parts of an input this participant feeds.  Starts with all fields zero. */
typedef struct GjTurn
{
	bool		begun;
	uint32		claimed;		/* number of a whole part that is this participant's */
	uint32		passed;			/* whole parts before the next one */
} GjTurn;

/* Does this participant feed rows of the part?  To be called once for each part, in order. */
extern bool gj_part_is_mine(GjFeeder *feeder, int input, const GjPart *part, GjTurn *turn);

#endif							/* FEED_PARTS_H */
