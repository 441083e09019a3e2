/*
 * feed_page_walk.c - finds the attributes of the tuples of one heap page.
 *
 * If no tuple of a page has NULLs, the attributes before the first
 * variable-length one have the same offset in every tuple.  The others are
 * found by walking each tuple, as tuple deforming does.
 */
#include "postgres.h"

#include "access/tupmacs.h"

#include "feed_page_walk.h"

static uint8
align_mask(char align)
{
	switch (align)
	{
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT - 1;
		case TYPALIGN_INT:
			return ALIGNOF_INT - 1;
		case TYPALIGN_DOUBLE:
			return ALIGNOF_DOUBLE - 1;
		default:
			return 0;
	}
}

void
gj_page_walk_plan(GjPageRows *rows, TupleDesc desc)
{
	const char **unread = palloc(MaxHeapTuplesPerPage * sizeof(char *));
	int			offset = 0;
	bool		fixed = true;

	for (int i = 0; i < rows->nattributes; i++)
		rows->nsteps = Max(rows->nsteps, rows->attributes[i].step + 1);
	rows->steps = palloc(Max(1, rows->nsteps) * sizeof(GjPageStep));
	rows->first_walk = rows->nsteps;
	for (int i = 0; i < rows->nsteps; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		GjPageStep *step = &rows->steps[i];
		int			aligned;

		step->length = att->attlen;
		step->mask = align_mask(att->attalign);
		step->target = -1;
		step->out = unread;
		step->missing = NULL;
		for (int k = 0; k < rows->nattributes; k++)
			if (rows->attributes[k].step == i)
			{
				step->target = k;
				step->out = rows->attributes[k].pointers;
				step->missing = rows->attributes[k].missing;
			}

		if (!fixed)
			continue;
		aligned = (offset + step->mask) & ~step->mask;
		if (step->length < 0)
		{
			/* a varlena may start unaligned, so later offsets vary */
			fixed = false;
			rows->first_walk = i;
			rows->walk_offset = offset;
			if (aligned == offset && step->target >= 0)
				rows->attributes[step->target].fixed_offset = offset;
			continue;
		}
		if (step->target >= 0)
			rows->attributes[step->target].fixed_offset = aligned;
		offset = aligned + step->length;
	}
}

/*
 * Returns where the attribute at data + offset begins, and stores in *end
 * where it ends.  Most variable-length attributes are varlenas with a one-byte
 * header, which are never padded.  A zero byte is padding; it is never such a
 * header.
 */
static inline uint32
locate(const GjPageStep *step, const char *data, uint32 offset, uint32 *end)
{
	if (step->length > 0)
	{
		offset = (offset + step->mask) & ~(uint32) step->mask;
		*end = offset + step->length;
	}
	else
	{
		uint8		header = (uint8) data[offset];

		if (likely(step->length == -1 && (header & 1) && header != 1))
			*end = offset + (header >> 1);
		else
		{
			if (step->length != -1 || header == 0)
				offset = (offset + step->mask) & ~(uint32) step->mask;
			*end = att_addlength_pointer(offset, step->length, data + offset);
		}
	}
	return offset;
}

/* Finds the attributes without a fixed offset, in tuples without NULLs. */
static void
walk_uniform(GjPageRows *rows)
{
	const GjPageStep *first = rows->steps + rows->first_walk;
	const GjPageStep *last = rows->steps + rows->nsteps;

	for (int j = 0; j < rows->n; j++)
	{
		const char *data = rows->data[j];
		uint32		offset = rows->walk_offset;

		for (const GjPageStep *step = first; step < last; step++)
			step->out[j] = data + locate(step, data, offset, &offset);
	}
}

/* Finds all attributes that are read, in arbitrary tuples. */
static void
walk_any(GjPageRows *rows)
{
	for (int j = 0; j < rows->n; j++)
	{
		HeapTupleHeader tuple = rows->tuples[j];
		const char *data = rows->data[j];
		bool		nulls = (tuple->t_infomask & HEAP_HASNULL) != 0;
		int			there = Min(HeapTupleHeaderGetNatts(tuple), rows->nsteps);
		uint32		offset = 0;
		int			i = 0;

		for (; i < there; i++)
		{
			const GjPageStep *step = &rows->steps[i];

			if (nulls && att_isnull(i, tuple->t_bits))
				step->out[j] = NULL;
			else
				step->out[j] = data + locate(step, data, offset, &offset);
		}
		for (; i < rows->nsteps; i++)
			rows->steps[i].out[j] = rows->steps[i].missing;
	}
}

void
gj_page_walk(GjPageRows *rows)
{
	if (!rows->uniform)
		walk_any(rows);
	else if (rows->first_walk < rows->nsteps)
		walk_uniform(rows);
}
