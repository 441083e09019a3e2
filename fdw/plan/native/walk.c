/*
 * plan/native/walk.c - the children of a path.
 *
 * Core has walkers for expressions and plan states, but not for paths.
 */
#include "postgres.h"

#include "compat.h"
#include "plan/native/walk.h"

/* A node type whose only child is its field subpath. */
#define UNARY(type) \
	case T_##type: \
		return list_make1(((type *) path)->subpath)

List *
gj_path_children(Path *path)
{
	switch (nodeTag(path))
	{
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			return list_make2(((JoinPath *) path)->outerjoinpath,
							  ((JoinPath *) path)->innerjoinpath);
		case T_RecursiveUnionPath:
			return list_make2(((RecursiveUnionPath *) path)->leftpath,
							  ((RecursiveUnionPath *) path)->rightpath);
		case T_AppendPath:
			return ((AppendPath *) path)->subpaths;
		case T_MergeAppendPath:
			return ((MergeAppendPath *) path)->subpaths;
		case T_CustomPath:
			return ((CustomPath *) path)->custom_paths;
		case T_ForeignPath:
			if (((ForeignPath *) path)->fdw_outerpath == NULL)
				return NIL;
			return list_make1(((ForeignPath *) path)->fdw_outerpath);
		case T_SetOpPath:
			return gj_setop_children((SetOpPath *) path);
		case T_IncrementalSortPath:
			return list_make1(((IncrementalSortPath *) path)->spath.subpath);
			UNARY(MaterialPath);
			UNARY(MemoizePath);
			UNARY(UniquePath);
			UNARY(GatherPath);
			UNARY(GatherMergePath);
			UNARY(ProjectionPath);
			UNARY(ProjectSetPath);
			UNARY(SortPath);
			UNARY(GroupPath);
			UNARY(UpperUniquePath);
			UNARY(AggPath);
			UNARY(GroupingSetsPath);
			UNARY(WindowAggPath);
			UNARY(LockRowsPath);
			UNARY(ModifyTablePath);
			UNARY(LimitPath);
			UNARY(SubqueryScanPath);
		default:
			return NIL;
	}
}
