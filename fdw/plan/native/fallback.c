/*
 * plan/native/fallback.c - the native plan that runs if the daemon cannot.
 *
 * Every OffloadJoin or OffloadBlock carries a path of its joinrel that needs no daemon.  It is
 * taken from the joinrel's own paths, with two differences:
 *   - It is a copy, because add_path frees paths that ours dominates.
 *   - Below it there may be OffloadJoins of lower joinrels.  The copy replaces
 *     each by that OffloadJoin's own native path, which belongs to the same
 *     joinrel and so delivers the same columns.
 * Nodes are copied from the top down to such an OffloadJoin.  All other subtrees
 * are shared. Sharing paths of lower joinrels is safe, because those joinrels
 * are complete.
 */
#include "postgres.h"

#include "nodes/extensible.h"

#include "compat.h"
#include "plan/native/native.h"

static Path *native_copy(Path *path, bool top);

static Path *
flat_copy(const Path *path, size_t size)
{
	Path	   *copy = palloc(size);

	memcpy(copy, path, size);
	return copy;
}

/*
 * A copy of a node with one or more children if any child changed, else the
 * node.
 */
#define COPY_IF(type, path, changed) \
	((type *) ((changed) ? flat_copy((Path *) (path), sizeof(type)) : (Path *) (path)))

static Path *
copy_join(Path *path, size_t size, bool top)
{
	JoinPath   *join = (JoinPath *) path;
	Path	   *outer = native_copy(join->outerjoinpath, false);
	Path	   *inner = native_copy(join->innerjoinpath, false);

	if (outer == NULL || inner == NULL)
		return NULL;
	if (top || outer != join->outerjoinpath || inner != join->innerjoinpath)
	{
		join = (JoinPath *) flat_copy(path, size);
		join->outerjoinpath = outer;
		join->innerjoinpath = inner;
	}
	return (Path *) join;
}

/* For a node type whose only child is its field subpath. */
#define COPY_UNARY(type) \
	do { \
		type	   *node = (type *) path; \
		Path	   *child = native_copy(node->subpath, false); \
		\
		if (child == NULL) \
			return NULL; \
		node = COPY_IF(type, node, top || child != node->subpath); \
		node->subpath = child; \
		return (Path *) node; \
	} while (0)

static List *
copy_list(List *paths)
{
	List	   *copies = NIL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *copy = native_copy(lfirst(lc), false);

		if (copy == NULL)
			return NIL;
		copies = lappend(copies, copy);
	}
	return copies;
}

/* Returns NULL for a node type whose children are unknown. */
static Path *
native_copy(Path *path, bool top)
{
	if (gj_is_gpujoin(path))
		return llast(((CustomPath *) path)->custom_paths);

	/* no OffloadJoin is below scans of tables and joins of partitions */
	if (!top && path->parent->reloptkind != RELOPT_JOINREL &&
		path->parent->reloptkind != RELOPT_UPPER_REL && path->parent->rtekind != RTE_SUBQUERY)
		return path;

	switch (nodeTag(path))
	{
		case T_NestPath:
			return copy_join(path, sizeof(NestPath), top);
		case T_MergePath:
			return copy_join(path, sizeof(MergePath), top);
		case T_HashPath:
			return copy_join(path, sizeof(HashPath), top);
		case T_MaterialPath:
			COPY_UNARY(MaterialPath);
		case T_MemoizePath:
			COPY_UNARY(MemoizePath);
		case T_SortPath:
			COPY_UNARY(SortPath);
		case T_IncrementalSortPath:
			{
				IncrementalSortPath *node = (IncrementalSortPath *) path;
				Path	   *child = native_copy(node->spath.subpath, false);

				if (child == NULL)
					return NULL;
				node = COPY_IF(IncrementalSortPath, node, top || child != node->spath.subpath);
				node->spath.subpath = child;
				return (Path *) node;
			}
		case T_GatherPath:
			COPY_UNARY(GatherPath);
		case T_GatherMergePath:
			COPY_UNARY(GatherMergePath);
		GJ_BEFORE_19(case T_UniquePath: COPY_UNARY(UniquePath);)
		case T_ProjectionPath:
			COPY_UNARY(ProjectionPath);
		case T_ProjectSetPath:
			COPY_UNARY(ProjectSetPath);
		case T_GroupResultPath:
			return top ? flat_copy(path, sizeof(GroupResultPath)) : path;
		case T_AggPath:
			COPY_UNARY(AggPath);
		case T_GroupPath:
			COPY_UNARY(GroupPath);
		case T_GroupingSetsPath:
			COPY_UNARY(GroupingSetsPath);
		case T_UpperUniquePath:
			COPY_UNARY(UpperUniquePath);
		case T_WindowAggPath:
			COPY_UNARY(WindowAggPath);
		case T_SetOpPath:
			{
				SetOpPath  *node = COPY_IF(SetOpPath, path, true);
				List	   *children = copy_list(gj_setop_children(node));

				if (children == NIL)
					return NULL;
				gj_set_setop_children(node, children);
				return (Path *) node;
			}
		case T_LimitPath:
			COPY_UNARY(LimitPath);
		case T_SubqueryScanPath:
			COPY_UNARY(SubqueryScanPath);
		case T_AppendPath:
			{
				AppendPath *node = COPY_IF(AppendPath, path, true);

				node->subpaths = copy_list(node->subpaths);
				if (list_length(node->subpaths) != list_length(((AppendPath *) path)->subpaths))
					return NULL;
				return (Path *) node;
			}
		case T_MergeAppendPath:
			{
				MergeAppendPath *node = COPY_IF(MergeAppendPath, path, true);

				node->subpaths = copy_list(node->subpaths);
				if (list_length(node->subpaths) != list_length(((MergeAppendPath *) path)->subpaths))
					return NULL;
				return (Path *) node;
			}
		default:
			return NULL;
	}
}

Path *
gj_native_upper(const RelOptInfo *rel, const Path **cheapest)
{
	const Path *best = NULL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		/*
		 * Making a plan of a MinMaxAggPath turns every Aggref of the query
		 * level into a Param, also those of our node.
		 */
		if (path->param_info != NULL || gj_is_gpujoin(path) || IsA(path, MinMaxAggPath))
			continue;
		if (best == NULL || gj_is_cheaper(gj_price(path), gj_price(best)))
			best = path;
	}
	*cheapest = best;
	return best != NULL ? native_copy(unconstify(Path *, best), true) : NULL;
}

const Path *
gj_cheapest_native(RelOptInfo *joinrel, const GjJoinrel *state, GjVariant variant)
{
	List	   *paths = variant == GJ_SERIAL ? joinrel->pathlist : joinrel->partial_pathlist;
	const Path *best = state->native[variant];
	ListCell   *lc;

	foreach(lc, paths)
	{
		const Path *path = lfirst(lc);

		/* core keeps them in the order of their costs */
		if (best != NULL && path->total_cost >= best->total_cost && gj_price(best).disabled == 0)
			break;
		if ((best == NULL || gj_is_cheaper(gj_price(path), gj_price(best))) &&
			path->param_info == NULL && !gj_is_gpujoin(path))
			best = path;
	}
	return best;
}

Path *
gj_keep_native(GjJoinrel *state, GjVariant variant, const Path *native)
{
	Path	   *copy;

	if (native != state->native[variant] &&
		(copy = native_copy((Path *) native, true)) != NULL)
		state->native[variant] = copy;
	return state->native[variant];
}
