/*
 * plan/defect.h - errors of ours that are noticed while a plan is made.
 */
#ifndef PLAN_DEFECT_H
#define PLAN_DEFECT_H

/*
 * The planner has contradicted itself: keeps the reason in *defect, unless there
 * is one already, and returns.  The caller goes on with any value, because the
 * node then runs its native plan and nothing else is read of its GjPlan.  A
 * server with assertions raises an error instead.
 */
extern void gj_note_defect(const char **defect, const char *format,...)
			pg_attribute_printf(2, 3);

#endif							/* PLAN_DEFECT_H */
