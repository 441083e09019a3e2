/*
 * path.h - the CustomPath of a GpuJoin.
 */
#ifndef GPUJOIN_PATH_H
#define GPUJOIN_PATH_H

#include "candidate.h"

/* The only member of CustomPath.custom_private. */
typedef struct GjPath
{
	GjVariant	variant;
	GjCandidate *tree;
	List	   *outputs;		/* Vars: the joinrel's target when the path was made */
} GjPath;

#endif							/* GPUJOIN_PATH_H */
