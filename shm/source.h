/*
 * source.h - requests on foreign servers, the sources of mirrored tables.
 *
 * One frame each way, whose bodies are a fixed part and JSON in UTF-8.  docs/internals/sources.md
 * describes the JSON.
 */
#ifndef GPUJOIN_SOURCE_H
#define GPUJOIN_SOURCE_H

#include <stdint.h>

enum gj_source_kind
{
	GJ_SOURCE_PIN = 1,			/* one position for all tables of a statement */
	GJ_SOURCE_UNPIN = 2,		/* ends a pin */
	GJ_SOURCE_MIRROR = 3,		/* begins mirrors of tables */
	GJ_SOURCE_UNMIRROR = 4,		/* ends mirrors of tables */
	GJ_SOURCE_IMPORT = 5,		/* the tables of a schema of the source */
	GJ_SOURCE_MIRRORS = 6,		/* all mirrors of the database */
	GJ_SOURCE_SIZE = 7,			/* rows and bytes of tables */
	GJ_SOURCE_CHECK = 8,		/* compares a mirror with its source */
	GJ_SOURCE_CLOSE = 9			/* ends the session with a source */
};

struct gj_source_get
{
	uint32_t	kind;			/* enum gj_source_kind */
	uint32_t	length;			/* bytes of JSON that follow */
};

struct gj_source
{
	uint32_t	kind;			/* that was asked for */
	uint32_t	length;			/* bytes of JSON that follow */
};

#endif							/* GPUJOIN_SOURCE_H */
