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

	PG_RETURN_POINTER(routine);
}
