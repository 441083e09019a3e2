/*
 * foreign/handler.c - what gpujoin_fdw can do.
 */
#include "postgres.h"

#include "fmgr.h"
#include "foreign/fdwapi.h"

#include "foreign/wrapper.h"

PG_FUNCTION_INFO_V1(gpujoin_fdw_handler);

Datum
gpujoin_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->GetForeignRelSize = gj_foreign_get_rel_size;
	routine->GetForeignPaths = gj_foreign_get_paths;
	routine->GetForeignPlan = gj_foreign_get_plan;
	routine->BeginForeignScan = gj_foreign_begin;
	routine->IterateForeignScan = gj_foreign_iterate;
	routine->ReScanForeignScan = gj_foreign_rescan;
	routine->EndForeignScan = gj_foreign_end;
	routine->ExplainForeignScan = gj_foreign_explain;
	routine->AnalyzeForeignTable = gj_foreign_analyze;
	routine->ImportForeignSchema = gj_foreign_import;
	PG_RETURN_POINTER(routine);
}
