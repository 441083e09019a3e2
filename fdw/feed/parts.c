/*
 * feed/parts.c - the plans that deliver the rows of an input.
 *
 * The children of an Append are run here in its place, because they are not
 * asked row by row.  They are those that it would run: it leaves out leaves that its
 * parameters exclude.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "feed/parts.h"

/* ---- leaves that are read from pages ---- */

/* Does the plan's execution allow to read its rows from heap pages? */
static bool
is_heap_scan(const PlanState *child)
{
	const ScanState *scan = (const ScanState *) child;
	Snapshot	snapshot;

	if (!IsA(child, SeqScanState) ||
		scan->ss_currentRelation->rd_tableam != GetHeapamTableAmRoutine())
		return false;
	snapshot = scan->ss_currentScanDesc != NULL ? scan->ss_currentScanDesc->rs_snapshot :
		child->state->es_snapshot;
	return snapshot != NULL && IsMVCCSnapshot(snapshot);
}

/* The number in the leaf of a column that the plan delivers; 0: it computes the column. */
static AttrNumber
delivered(const PlanState *child, const GjColumn *column)
{
	const List *tlist = child->plan->targetlist;
	const Var  *var;

	if (column->resno < 1 || column->resno > list_length(tlist))
		return 0;
	var = (const Var *) list_nth_node(TargetEntry, tlist, column->resno - 1)->expr;
	return IsA(var, Var) ? var->varattno : 0;
}

/* The number in the leaf of a column that it does not deliver: that of the parent's name. */
static AttrNumber
hidden(TupleDesc leaf, TupleDesc parent, const GjColumn *column)
{
	const char *name;

	if (column->attnum < 1 || column->attnum > parent->natts)
		return 0;
	name = NameStr(TupleDescAttr(parent, column->attnum - 1)->attname);
	for (int i = 0; i < leaf->natts; i++)
	{
		const FormData_pg_attribute *att = TupleDescAttr(leaf, i);

		if (!att->attisdropped && strcmp(NameStr(att->attname), name) == 0)
			return att->attnum;
	}
	return 0;
}

/* Does the leaf have such a column?  Its type is that of the parent's column. */
static bool
has_column(TupleDesc leaf, AttrNumber attnum, const GjColumn *column)
{
	const FormData_pg_attribute *att;

	if (attnum < 1 || attnum > leaf->natts)
		return false;
	att = TupleDescAttr(leaf, attnum - 1);
	return !att->attisdropped && att->atttypid == column->type &&
		att->atttypmod == column->typmod && att->attcollation == column->collation;
}

/* Stores the numbers of an input's columns in a leaf.  Returns false if it lacks one. */
static bool
find_columns(const PlanState *child, const GjInput *in, int ncolumns, AttrNumber *attnums)
{
	TupleDesc	leaf = RelationGetDescr(((const ScanState *) child)->ss_currentRelation);
	Relation	parent = NULL;
	bool		ok = true;

	for (int i = 0; ok && i < ncolumns; i++)
	{
		const GjColumn *column = &in->columns[i];

		if (i < in->ncolumns)
			attnums[i] = delivered(child, column);
		else
		{
			if (parent == NULL)
				parent = table_open(in->relid, AccessShareLock);
			attnums[i] = hidden(leaf, RelationGetDescr(parent), column);
		}
		ok = has_column(leaf, attnums[i], column);
	}
	if (parent != NULL)
		table_close(parent, NoLock);
	return ok;
}

/* Can the rows of a leaf be read from heap pages, hidden columns too? */
static bool
is_paged_leaf(const PlanState *child, const GjInput *in)
{
	AttrNumber	attnums[GJ_MAX_COLUMNS];

	return is_heap_scan(child) && in->ncolumns + in->nhidden <= GJ_MAX_COLUMNS &&
		find_columns(child, in, in->ncolumns + in->nhidden, attnums);
}

const GjColumn *
gj_part_columns(const GjFeeder *feeder, int input, const GjPart *part, int ncolumns)
{
	const GjInput *in = &feeder->plan->inputs[input];
	AttrNumber	attnums[GJ_MAX_COLUMNS];
	GjColumn   *columns;

	if (!feeder->parts[input]->leaves)
		return in->columns;
	if (!find_columns(part->child, in, ncolumns, attnums))
		elog(ERROR, "a leaf of relation %u lacks a column", in->relid);
	columns = palloc(Max(1, ncolumns) * sizeof(GjColumn));
	memcpy(columns, in->columns, ncolumns * sizeof(GjColumn));
	for (int i = 0; i < ncolumns; i++)
		columns[i].attnum = attnums[i];
	return columns;
}

/* ---- the parts of an input ---- */

/* The children of an Append that are not excluded.  What this allocates lives as long as it. */
static Bitmapset *
children_of(AppendState *append)
{
	PartitionPruneState *prune = append->as_prune_state;

	if (append->ps.chgParam != NULL)
		ExecReScan(&append->ps);
	if (append->as_nplans == 0)
		return NULL;
	return prune != NULL && prune->do_exec_prune ? gj_find_matching_plans(prune) :
		bms_add_range(NULL, 0, append->as_nplans - 1);
}

static void
add_leaves(GjFeeder *feeder, GjParts *parts, const GjInput *in)
{
	AppendState *append = parts->append;
	MemoryContext old = MemoryContextSwitchTo(feeder->context);
	Bitmapset  *children = children_of(append);
	int			child = -1;

	MemoryContextSwitchTo(old);
	parts->leaves = true;
	parts->parts = palloc0(Max(1, bms_num_members(children)) * sizeof(GjPart));
	while ((child = bms_next_member(children, child)) >= 0)
		parts->parts[parts->n++] = (GjPart)
		{
			.child = append->appendplans[child],
				.paged = is_paged_leaf(append->appendplans[child], in),
				.whole = append->ps.plan->parallel_aware && child < append->as_first_partial_plan
		};
	bms_free(children);
}

GjParts *
gj_parts(GjFeeder *feeder, int input)
{
	const GjInput *in = &feeder->plan->inputs[input];
	PlanState  *child = feeder->inputs[input];
	bool		paged = in->feed == GJ_FEED_PAGE;
	GjParts    *parts = feeder->parts[input];

	if (parts != NULL)
		return parts;
	parts = feeder->parts[input] = palloc0(sizeof(GjParts));
	if (paged && IsA(child, AppendState) && ((AppendState *) child)->as_nasyncplans == 0)
	{
		parts->append = (AppendState *) child;
		add_leaves(feeder, parts, in);
		return parts;
	}
	parts->n = 1;
	parts->parts = palloc0(sizeof(GjPart));
	parts->parts[0].child = child;

	/* core leaves out an Append of a single leaf */
	parts->leaves = paged && IsA(child, SeqScanState) &&
		RelationGetRelid(((ScanState *) child)->ss_currentRelation) != in->relid;
	parts->parts[0].paged = paged && (parts->leaves ? is_paged_leaf(child, in) : is_heap_scan(child));
	return parts;
}

bool
gj_get_filters(GjFeeder *feeder, int input)
{
	GjParts    *parts = feeder->parts[input];

	if (parts->filtered)
		return true;
	parts->filtered = true;
	return gj_key_filters_get(feeder->link, feeder->plan, input, feeder->filters);
}

bool
gj_part_is_mine(GjFeeder *feeder, int input, const GjPart *part, GjTurn *turn)
{
	uint32		number;

	if (!part->whole || feeder->shared == NULL || !feeder->plan->inputs[input].partial)
		return true;
	number = turn->passed++;
	while (!turn->begun || turn->claimed < number)
	{
		turn->claimed = pg_atomic_fetch_add_u32(&feeder->shared->next_part[input], 1);
		turn->begun = true;
	}
	return turn->claimed == number;
}
