/*
 * exec/parameters.h - the values of a job's parameters.
 */
#ifndef EXEC_PARAMETERS_H
#define EXEC_PARAMETERS_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/execnodes.h"

#include "job/job.h"

typedef struct GjParameterValues
{
	ExprState **exprs;			/* of GjPlan.parameters */
	StringInfoData json;		/* their values in this scan, as in the job */
} GjParameterValues;

/* Prepares the evaluation of the plan's parameters in a node. */
extern void gj_prepare_parameters(GjParameterValues *values, GjPlan *plan, PlanState *node);

/*
 * Evaluates them for a scan of the node.  Returns NULL, or why the daemon cannot take
 * a value.
 */
extern const char *gj_evaluate_parameters(GjParameterValues *values, GjPlan *plan, PlanState *node);

#endif							/* EXEC_PARAMETERS_H */
