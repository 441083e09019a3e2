/*
 * plan/cost/native_sort.c - how long sorts take.
 */
#include "postgres.h"

#include <math.h>

#include "utils/lsyscache.h"

#include "plan/cost/native_node.h"

/* ns, measured on a core of about 3 GHz */
#define COMPARE_NS 15			/* per row and comparison */
#define COMPARE_SLOW_NS 60		/* of numerics and texts */

double
gj_sort_ns(double rows, const List *pathkeys)
{
	const PathKey *key = pathkeys == NIL ? NULL : linitial(pathkeys);
	const EquivalenceMember *member = key == NULL ? NULL :
		linitial(key->pk_eclass->ec_members);

	return gj_sort_type_ns(rows, member == NULL ? InvalidOid : member->em_datatype);
}

double
gj_sort_type_ns(double rows, Oid type)
{
	bool		fast = !OidIsValid(type) || get_typbyval(type);

	return rows * (GJ_STORE_NS * 2 + log2(Max(rows, 2)) * (fast ? COMPARE_NS : COMPARE_SLOW_NS));
}
