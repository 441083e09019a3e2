/*
 * exec/mirrors.c - the positions at which a node's mirrors are read.
 *
 * All nodes of a statement read a server's tables at one position, and so do the
 * scans of the native plan.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "exec/node.h"
#include "source/source.h"

const char **
gj_pin_mirrors(GjState *state)
{
	const GjPlan *plan = state->plan;
	const char **tokens = NULL;

	for (int i = 0; i < plan->ninputs; i++)
	{
		const GjMirror *mirror = plan->inputs[i].mirror;

		if (mirror == NULL)
			continue;
		if (tokens == NULL)
			tokens = palloc0(plan->ninputs * sizeof(char *));
		state->pins[i] = gj_pin(state->css.ss.ps.state, mirror->serverid,
								OidIsValid(mirror->userid) ? mirror->userid : GetUserId());
		tokens[i] = state->pins[i]->token;
	}
	return tokens;
}
