/*
 * plan_parameter.c - values that are known when an execution starts.
 *
 * Parameters of prepared statements, and results of subqueries that run once.
 * The node evaluates them before it opens a job, which has them as integers.
 * A numeric's scale is not known before, so a numeric is only compared: with
 * the integers below and above it.
 */
#include "postgres.h"

#include "plan_parameter.h"
#include "plan_value_leaf.h"

/* Is the parameter the result of a subquery that runs only once? */
static bool
is_init_param(PlannerInfo *root, int paramid)
{
	for (; root != NULL; root = root->parent_root)
	{
		ListCell   *lc;

		foreach(lc, root->init_plans)
			if (list_member_int(lfirst_node(SubPlan, lc)->setParam, paramid))
				return true;
	}
	return false;
}

bool
gj_is_correlated(PlannerInfo *root, const Param *param)
{
	return param->paramkind == PARAM_EXEC && !is_init_param(root, param->paramid);
}

static bool
is_external(PlannerInfo *root, const Param *param)
{
	return param->paramkind == PARAM_EXTERN ||
		(param->paramkind == PARAM_EXEC && is_init_param(root, param->paramid));
}

/* The number of the parameter in the job, which has each once. */
static int
number(GjInputs *inputs, const Param *param, GjRounding rounding, int scale)
{
	GjPlan	   *plan = inputs->plan;
	ListCell   *lc;

	foreach(lc, inputs->parameters)
	{
		int			i = foreach_current_index(lc);

		if (equal(lfirst(lc), param) && plan->parameters[i].rounding == rounding &&
			plan->parameters[i].scale == scale)
			return i;
	}
	if (plan->parameters == NULL)
		plan->parameters = palloc(GJ_MAX_PARAMETERS * sizeof(GjParameter));
	if (plan->nparameters == GJ_MAX_PARAMETERS)
		elog(ERROR, "a job has more than %d parameters", GJ_MAX_PARAMETERS);
	plan->parameters[plan->nparameters].rounding = rounding;
	plan->parameters[plan->nparameters].scale = scale;
	inputs->parameters = lappend(inputs->parameters, copyObject(unconstify(Param *, param)));
	return plan->nparameters++;
}

static char *
parameter_json(GjTranslator *t, const Param *param, GjRounding rounding, int scale)
{
	return psprintf("{\"parameter\":%d}",
					t->inputs == NULL ? 0 : number(t->inputs, param, rounding, scale));
}

bool
gj_translate_parameter(GjTranslator *t, const Param *param, GjValueJson *value)
{
	if (!is_external(t->root, param) || !gj_describe_value(param->paramtype, value) ||
		(value->kind != GJ_KIND_INT && value->kind != GJ_KIND_BOOL))
		return false;
	value->width = GJ_CONSTANT_WIDTH;
	value->json = parameter_json(t, param, GJ_ROUND_NONE, 0);
	return true;
}

char *
gj_numeric_parameter(GjTranslator *t, const Param *param, int scale, GjRounding rounding)
{
	return is_external(t->root, param) ? parameter_json(t, param, rounding, scale) : NULL;
}
