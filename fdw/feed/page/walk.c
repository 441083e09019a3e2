/*
 * feed/page/walk.c - finds the attributes of the tuples of one heap page.
 *
 * If no tuple of a page has NULLs, the attributes before the first
 * variable-length one have the same offset in every tuple, and the others are
 * found run by run (feed/page/runs.c).  If one has, each tuple is walked on its
 * own, as tuple deforming does.
 */
#include "postgres.h"

#include "access/tupmacs.h"

#include "feed/page/walk.h"

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
		GjPageAttribute *read = NULL;
		int			aligned;

		for (int k = 0; k < rows->nattributes; k++)
			if (rows->attributes[k].step == i)
				read = &rows->attributes[k];
		*step = (GjPageStep)
		{
			.length = att->attlen,
				.mask = align_mask(att->attalign),
				.out = read != NULL ? read->pointers : unread,
				.missing = read != NULL ? read->missing : NULL
		};

		if (!fixed)
			continue;
		aligned = (offset + step->mask) & ~step->mask;
		if (step->length < 0)
		{
			/* a varlena may start unaligned, so later offsets vary */
			fixed = false;
			rows->first_walk = i;
			rows->walk_offset = offset;
			if (aligned == offset && read != NULL)
				read->fixed_offset = offset;
			continue;
		}
		if (read != NULL)
			read->fixed_offset = aligned;
		offset = aligned + step->length;
	}
	for (int k = 0; k < rows->nattributes; k++)
		if (rows->attributes[k].fixed_offset >= 0)
		{
			rows->attributes[k].starts = rows->data;
			rows->attributes[k].start = rows->attributes[k].fixed_offset;
		}
	gj_page_runs_plan(rows);
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

/* Walks the steps before end in tuples without NULLs. */
static void
walk_uniform(GjPageRows *rows, int end)
{
	while (rows->walked < end)
	{
		const GjPageRun *run = &rows->runs[rows->walked_runs];

		if (rows->walked_runs == 0)
			gj_page_run_walk(run, rows->data, rows->walk_offset, rows->ends, rows->n);
		else
			gj_page_run_walk(run, rows->ends, 0, rows->ends, rows->n);
		rows->walked_runs++;
		rows->walked = run->end;
	}
}

/* Finds the attributes with a fixed offset among these steps, in one tuple. */
static inline void
place_fixed(GjPageRows *rows, int j, int first, int end)
{
	for (int i = 0; i < rows->nattributes; i++)
	{
		GjPageAttribute *a = &rows->attributes[i];

		if (a->step >= first && a->step < end)
			a->pointers[j] = rows->data[j] + a->fixed_offset;
	}
}

/*
 * Walks the steps before end in arbitrary tuples.  One without NULLs has the
 * fixed offsets even if others on its page have none.
 */
static void
walk_any(GjPageRows *rows, int end)
{
	int			fixed_end = Min(end, rows->first_walk);

	for (int j = 0; j < rows->n; j++)
	{
		HeapTupleHeader tuple = rows->tuples[j];
		const char *data = rows->data[j];
		bool		nulls = (tuple->t_infomask & HEAP_HASNULL) != 0;
		int			there = HeapTupleHeaderGetNatts(tuple);
		uint32		offset = rows->offsets[j];
		int			i = rows->walked;

		if (!nulls && i < fixed_end && there >= rows->first_walk)
		{
			place_fixed(rows, j, i, fixed_end);
			i = fixed_end;
			offset = i == rows->first_walk ? rows->walk_offset : 0;
		}
		for (; i < Min(there, end); i++)
		{
			const GjPageStep *step = &rows->steps[i];

			if (nulls && att_isnull(i, tuple->t_bits))
				step->out[j] = NULL;
			else
				step->out[j] = data + locate(step, data, offset, &offset);
		}
		for (; i < end; i++)
			rows->steps[i].out[j] = rows->steps[i].missing;
		rows->offsets[j] = offset;
	}
}

void
gj_page_walk_start(GjPageRows *rows)
{
	rows->walked = rows->uniform ? rows->first_walk : 0;
	rows->walked_runs = 0;
	if (rows->uniform)
		return;
	for (int j = 0; j < rows->n; j++)
		rows->offsets[j] = 0;
}

void
gj_page_walk(GjPageRows *rows, int attribute)
{
	int			end = rows->attributes[attribute].step + 1;

	if (end <= rows->walked)
		return;
	if (rows->uniform)
	{
		walk_uniform(rows, end);
		return;
	}
	walk_any(rows, end);
	rows->walked = end;
}
