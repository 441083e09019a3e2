/*
 * source/columns.c - which foreign tables a statement reads, and which of their columns.
 *
 * These are the columns for which it needs the privilege SELECT: those that the query
 * names, whether the plan reads them or not.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "foreign/fdwapi.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "source/request.h"
#include "source/source.h"

Bitmapset *
gj_all_columns(Oid relid)
{
	HeapTuple	relation = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Bitmapset  *columns = NULL;
	int			n;

	if (!HeapTupleIsValid(relation))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	n = ((Form_pg_class) GETSTRUCT(relation))->relnatts;
	ReleaseSysCache(relation);
	for (int attnum = 1; attnum <= n; attnum++)
	{
		HeapTuple	column = SearchSysCacheAttNum(relid, attnum);

		if (!HeapTupleIsValid(column))
			continue;			/* dropped */
		columns = bms_add_member(columns, attnum);
		ReleaseSysCache(column);
	}
	return columns;
}

/* The numbers of columns, of those that privileges are checked of. */
static Bitmapset *
numbers_of(Oid relid, const Bitmapset *selected)
{
	Bitmapset  *columns = NULL;
	int			i = -1;

	while ((i = bms_next_member(selected, i)) >= 0)
	{
		int			attnum = i + FirstLowInvalidHeapAttributeNumber;

		if (attnum == InvalidAttrNumber)
			return gj_all_columns(relid);	/* a whole row */
		if (attnum > 0)
			columns = bms_add_member(columns, attnum);
	}
	return columns;
}

/* The same columns of a child, by their names. */
static Bitmapset *
columns_of_child(Oid parent, const Bitmapset *columns, Oid child)
{
	Bitmapset  *result = NULL;
	int			attnum = -1;

	while ((attnum = bms_next_member(columns, attnum)) >= 0)
	{
		const char *name = get_attname(parent, attnum, true);
		AttrNumber	number = name != NULL ? get_attnum(child, name) : InvalidAttrNumber;

		if (number > 0)
			result = bms_add_member(result, number);
	}
	return result;
}

/* Finds the columns of a table that are read by the mapping.  Returns false if it is read by another one. */
static bool
find_columns(EState *estate, RangeTblEntry *rte, Oid serverid, Oid mapping, Bitmapset **columns)
{
	Bitmapset  *selected;
	Oid			user;
	bool		found = false;
	ListCell   *lc;

	*columns = NULL;
	if (gj_columns_read(estate, rte, &selected, &user))
	{
		*columns = numbers_of(rte->relid, selected);
		return gj_mapping_of(serverid, gj_user_or_current(user)) == mapping;
	}

	/* it is read as a child of one table or several */
	foreach(lc, estate->es_range_table)
	{
		RangeTblEntry *parent = lfirst_node(RangeTblEntry, lc);

		if (parent->rtekind != RTE_RELATION || !OidIsValid(parent->relid) ||
			!gj_columns_read(estate, parent, &selected, &user) ||
			gj_mapping_of(serverid, gj_user_or_current(user)) != mapping ||
			!typeInheritsFrom(get_rel_type_id(rte->relid), get_rel_type_id(parent->relid)))
			continue;
		found = true;
		*columns = bms_join(*columns, columns_of_child(parent->relid, numbers_of(parent->relid, selected), rte->relid));
	}
	return found;
}

static GjReadTable *
find_table(List *tables, Oid relid)
{
	ListCell   *lc;

	foreach(lc, tables)
	{
		GjReadTable *table = lfirst(lc);

		if (table->relid == relid)
			return table;
	}
	return NULL;
}

/*
 * Is the whole row kept, for the case that a row that it is joined with is locked and has
 * changed meanwhile?
 */
static bool
is_copied(const EState *estate, int rti)
{
	ListCell   *lc;

	if (estate->es_plannedstmt == NULL)
		return false;
	foreach(lc, estate->es_plannedstmt->rowMarks)
	{
		const PlanRowMark *mark = lfirst_node(PlanRowMark, lc);

		if ((int) mark->rti == rti && (mark->allMarkTypes & (1 << ROW_MARK_COPY)) != 0)
			return true;
	}
	return false;
}

List *
gj_tables_read(EState *estate, Oid serverid, Oid mapping)
{
	List	   *tables = NIL;
	ListCell   *lc;

	foreach(lc, estate->es_range_table)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		Bitmapset  *columns;
		GjReadTable *table;

		if (rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_FOREIGN_TABLE ||
			GetForeignServerIdByRelId(rte->relid) != serverid ||
			!find_columns(estate, rte, serverid, mapping, &columns))
			continue;
		table = find_table(tables, rte->relid);
		if (table == NULL)
		{
			table = palloc0(sizeof(GjReadTable));
			table->relid = rte->relid;
			tables = lappend(tables, table);
		}
		if (is_copied(estate, foreach_current_index(lc) + 1))
			columns = gj_all_columns(rte->relid);
		table->columns = bms_union(table->columns, columns);
	}
	return tables;
}
