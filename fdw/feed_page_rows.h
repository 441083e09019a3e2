/*
 * feed_page_rows.h - the visible tuples of one heap page as vectors of values.
 */
#ifndef GPUJOIN_FEED_PAGE_ROWS_H
#define GPUJOIN_FEED_PAGE_ROWS_H

#include "access/htup_details.h"
#include "nodes/execnodes.h"
#include "storage/bufpage.h"

#include "feed_writer.h"
#include "page_qual.h"

/* An attribute on the way to the last one that is read. */
typedef struct GjPageStep
{
	int16		length;			/* pg_attribute.attlen */
	uint8		mask;			/* its alignment - 1 */
	const char **out;			/* where pointers to it go, per tuple */
	const char *missing;		/* what it is in tuples older than it */
	int			target;			/* in GjPageRows.attributes; -1: not read */
} GjPageStep;

/* An attribute that is read, by columns or tests or both. */
typedef struct GjPageAttribute
{
	int			step;
	int			fixed_offset;	/* in tuples without NULLs; -1: none */
	const char *missing;		/* value in tuples older than it; NULL: NULL */
	Datum		missing_value;	/* what missing points to, where by value */
	const char **pointers;		/* MaxHeapTuplesPerPage */
} GjPageAttribute;

typedef struct GjPageCheck
{
	GjPageQual	qual;
	int			attribute;		/* in GjPageRows.attributes */
	ExprState  *value;			/* NULL for the NULL tests */
	GjPageTest	test;			/* after binding: on 64-bit integers */
	int64		bound;
} GjPageCheck;

typedef struct GjPageRows
{
	int			nsteps;
	GjPageStep *steps;
	int			first_walk;		/* first step without a fixed offset */
	int			walk_offset;	/* where it begins, before its alignment */
	int			nattributes;
	GjPageAttribute *attributes;
	int			ncolumns;
	int		   *columns;		/* of the writer: positions in attributes */
	int			nchecks;
	GjPageCheck *checks;
	bool		none;			/* a comparison with NULL: nothing passes */

	/* of the page at hand */
	int			n;
	bool		uniform;		/* no NULLs and all attributes there */
	const char *data[MaxHeapTuplesPerPage]; /* first attribute's place */
	HeapTupleHeader tuples[MaxHeapTuplesPerPage];
} GjPageRows;

/*
 * For these columns of the writer and conditions (of gj_page_qual) of a scan,
 * in the current memory context.  NULL where a condition is not one of those.
 */
extern GjPageRows *gj_page_rows_create(ScanState *scan, const GjWriter *writer);

/* Evaluates the conditions' parameters for the scan to come. */
extern void gj_page_rows_bind(GjPageRows *rows, ScanState *scan);

/*
 * Takes in n tuples of a page and keeps those that pass all conditions in
 * rows->n; false where a value is not what its type says.
 */
extern bool gj_page_rows_load(GjPageRows *rows, Page page,
							  const OffsetNumber *offsets, int n);

/* The columns of the tuples kept. */
extern void gj_page_rows_vectors(const GjPageRows *rows, GjVector *vectors);

/* The page was copied from one place to another: follow. */
extern void gj_page_rows_move(GjPageRows *rows, const char *from, const char *to);

#endif							/* GPUJOIN_FEED_PAGE_ROWS_H */
