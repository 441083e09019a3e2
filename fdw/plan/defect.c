/*
 * plan/defect.c - errors of ours that are noticed while a plan is made.
 *
 * A query whose native plan is at hand must not fail because of them.
 */
#include "postgres.h"

#include "plan/defect.h"

void
gj_note_defect(const char **defect, const char *format,...)
{
	char		text[256];
	va_list		args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
#ifdef USE_ASSERT_CHECKING
	elog(ERROR, "%s", text);
#endif
	if (*defect == NULL)
		*defect = psprintf("internal: %s", text);
}
