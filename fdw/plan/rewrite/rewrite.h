/*
 * plan/rewrite/rewrite.h - queries whose subqueries become joins.
 *
 * PostgreSQL makes a join of IN and EXISTS, but runs other subqueries in WHERE once for
 * each row, or builds a hash table of their result in each process.  A join of the
 * same rows can be offloaded.
 *
 * A Query here is a copy that may be changed.  Its level is that of its own columns
 * (varlevelsup 0).
 */
#ifndef PLAN_REWRITE_H
#define PLAN_REWRITE_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* plan/rewrite/not_in.c: NOT IN becomes NOT EXISTS.  Returns true if it has changed the query. */
extern bool gj_rewrite_not_in(Query *query);

/*
 * plan/rewrite/aggregate.c: a correlated subquery that returns an aggregate becomes a
 * join with the groups of all values.  Returns true if it has changed the query.
 */
extern bool gj_rewrite_aggregates(Query *query);

/* A condition of the subquery that compares a column of it with one of the query. */
typedef struct GjCorrelation
{
	OpExpr	   *condition;
	int			own;			/* which argument is the subquery's column */
	Var		   *outer;			/* the query's column, as the subquery sees it */
} GjCorrelation;

/* ---- plan/rewrite/values.c ---- */

/* A scalar subquery of a condition, or NULL, and how many subqueries of any kind it has. */
extern SubLink *gj_scalar_subquery(Node *condition, int *subqueries);

/*
 * Limits groups to those that can be joined by the keys, a list of GjCorrelation, with rows of the query's
 * tables that pass its conditions.
 */
extern void gj_limit_groups(const Query *query, List *where, const List *keys, Query *groups);

/* ---- plan/rewrite/query.c ---- */

/* The conditions of WHERE that a row has to satisfy, all of them. */
extern List *gj_where(const Query *query);
extern void gj_set_where(Query *query, List *conditions);

/*
 * Is it a SELECT of tables with WHERE, and no more than an aggregate without groups?
 * So it has no GROUP BY, DISTINCT, LIMIT, set operation, CTE or lock.
 */
extern bool gj_is_plain_select(const Query *query);

/* Its only column, or NULL. */
extern TargetEntry *gj_only_column(const Query *query);

/* A column of a query's own tables without its casts to binary compatible types, or NULL. */
extern Var *gj_bare_column(Node *expr, Index level);

/* Is a column of the query's tables never NULL in the rows of its FROM clause? */
extern bool gj_never_null(const Query *query, Node *expr);

/* The table of a range table entry, whose rows depend on nothing else. */
extern RangeTblEntry *gj_plain_table(const Query *query, int number);

#endif							/* PLAN_REWRITE_H */
