/*
 * keptfile.h - which columns the daemon keeps, "<socket>.kept".
 *
 * The planner reads it to estimate how much of a table must be fed; nothing else
 * depends on it.  The daemon renames a new file into place when its content has
 * changed, at most once a second.  A table of which it cannot keep more has an entry
 * without a column.  gj_load.kept is the version of the latest one,
 * so that a backend reads a file once.
 */
#ifndef GPUJOIN_KEPTFILE_H
#define GPUJOIN_KEPTFILE_H

#include <stdint.h>

#define GJ_KEPT_MAGIC	0x314b4a47	/* "GJK1" */
#define GJ_KEPT_COLUMNS	16384	/* most columns of a file: those with the most bytes */
#define GJ_WHOLE_TABLE	65535	/* gj_kept_column.share */

/* At the start of the file; gj_kept_column follow. */
struct gj_kept_header
{
	uint32_t	magic;			/* GJ_KEPT_MAGIC */
	uint16_t	version;		/* GJ_LAYOUT_VERSION */
	uint16_t	reserved;		/* must be 0 */
	uint64_t	kept;			/* gj_load.kept */
	uint32_t	columns;		/* that follow */
	uint32_t	reserved2;		/* must be 0 */
};

/* A column in some form. */
struct gj_kept_column
{
	uint64_t	system_identifier;
	int64_t		server_start;	/* as in gj_pages */
	uint32_t	database;
	uint32_t	tablespace;
	uint32_t	file;
	int16_t		attnum;			/* 0: the daemon lately could not keep what was read */
	uint16_t	share;			/* of the table's blocks, of GJ_WHOLE_TABLE */
};

#endif							/* GPUJOIN_KEPTFILE_H */
