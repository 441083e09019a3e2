/*
 * feed/kept/gates.c - whether the daemon may keep an input's columns, in this execution.
 *
 * The planner has found that it could evaluate the table's conditions.  Here is
 * what the proof needs: that every change of the table writes WAL, which stamps
 * pages, and that a block whose rows are all visible to everybody is visible to
 * this snapshot.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/pg_class.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "feed/kept/kept.h"
#include "job/page_qual.h"

/* Can the page feed evaluate all conditions of the scan?  A child feed sends no blocks. */
static bool
has_page_conditions(const ScanState *scan)
{
	ListCell   *lc;

	foreach(lc, scan->ps.plan->qual)
	{
		GjPageQual	qual;

		if (!gj_page_qual(lfirst(lc), &qual) && !gj_page_expression(lfirst(lc)))
			return false;
	}
	return true;
}

static bool
is_logged_table(Relation rel)
{
	return (rel->rd_rel->relkind == RELKIND_RELATION || rel->rd_rel->relkind == RELKIND_MATVIEW) &&
		RelationNeedsWAL(rel) && !IsCatalogRelation(rel);
}

/* A snapshot of a standby may see rows as invisible that the primary calls visible to all. */
static bool
is_snapshot_served(Snapshot snapshot)
{
	return IsMVCCSnapshot(snapshot) && !snapshot->takenDuringRecovery && !RecoveryInProgress() &&
		!gj_snapshots_expire();
}

bool
gj_kept_allowed(const GjFeeder *feeder, int input)
{
	const GjParts *parts = feeder->parts[input];

	if (feeder->inputs[input]->state->es_epq_active != NULL)
		return false;
	for (int i = 0; i < parts->n; i++)
		if (!parts->parts[i].paged && feeder->plan->inputs[input].nhidden > 0)
			return false;
	return true;
}

bool
gj_kept_allowed_part(const GjPart *part)
{
	const ScanState *scan = (const ScanState *) part->child;
	Snapshot	snapshot;

	if (!part->paged)
		return false;
	snapshot = scan->ss_currentScanDesc != NULL ? scan->ss_currentScanDesc->rs_snapshot :
		scan->ps.state->es_snapshot;
	return is_snapshot_served(snapshot) && is_logged_table(scan->ss_currentRelation) &&
		has_page_conditions(scan);
}
