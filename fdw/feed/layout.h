/*
 * feed/layout.h - where the columns of a batch are in its extent.
 */
#ifndef FEED_LAYOUT_H
#define FEED_LAYOUT_H

#include "feed/writer.h"

static inline bool
gj_is_varlena(const GjColumnWriter *c)
{
	return c->column->encoding == GJ_ENC_VARLENA;
}

/* Bytes per entry of the array of values: a value, or an offset. */
static inline Size
gj_item_size(const GjColumnWriter *c)
{
	return gj_is_varlena(c) ? sizeof(uint32) : (Size) c->column->width;
}

/* Expected bits per row in the extent. */
extern double gj_layout_row_bits(const GjWriter *writer);

/* Bytes of the extent in use, not counting alignment. */
extern Size gj_layout_bytes(const GjWriter *writer);

/*
 * Divides the extent among the columns.  The rows already in the batch and one
 * more, which needs the bytes given in each column's needs, must fit.  The
 * rest is sized for as many rows of the expected widths as possible.  Returns
 * false, without changing anything, if not even one more row fits.
 */
extern bool gj_layout_place(GjWriter *writer);

/*
 * Moves the arrays so that the first row of vectors fits, if the extent has
 * enough free space to justify it.
 */
extern bool gj_layout_make_room(GjWriter *writer, const GjVector *vectors);

#endif							/* FEED_LAYOUT_H */
