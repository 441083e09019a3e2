/*
 * explain/pin.c - from where a table of another server is read, in EXPLAIN's output.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "explain/explain.h"

/* The position is known if the statement was executed. */
static const char *
mirror_text(const GjPin *pin)
{
	if (pin->token[0] == '\0')
		return "yes";
	return psprintf("position %s, waited %.1f ms", pin->position, pin->waited_us / 1000.0);
}

void
gj_explain_pin(const GjPin *pin, Oid relid, const char *reason, ExplainState *es)
{
	const GjSourceTable *table;

	if (pin == NULL)
	{
		ExplainPropertyText("Mirror", psprintf("unknown (%s)", reason), es);
		return;
	}
	table = gj_pin_table(pin, relid);
	if (table->direct)
		ExplainPropertyText("Direct", table->reason, es);
	else
		ExplainPropertyText("Mirror", mirror_text(pin), es);
}

void
gj_explain_mirror(const GjInput *input, const GjPin *pin, EState *estate, ExplainState *es)
{
	const GjMirror *mirror = input->mirror;
	const char *reason = NULL;

	if (pin == NULL)
		pin = gj_pin_shown(estate, mirror->serverid,
						   OidIsValid(mirror->userid) ? mirror->userid : GetUserId(), &reason);
	es->indent++;
	gj_explain_pin(pin, input->relid, reason, es);
	es->indent--;
}
