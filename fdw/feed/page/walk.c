/*
 * feed/page/walk.c - finds the attributes of the tuples of one heap page.
 *
 * If no tuple of a page has NULLs, the attributes before the first
 * variable-length one have the same offset in every tuple, and the others are
 * found run by run (feed/page/walk.c).  If one has, each tuple is walked on its
 * own, as tuple deforming does.
 */
#include "postgres.h"

#include "access/tupmacs.h"

#include "compat.h"
#include "feed/page/page.h"

/* ---- runs ---- */

/*
 * All tuples of a page are walked over one run before the next run begins.  In
 * each tuple an attribute's position depends on the lengths of those before it,
 * but the tuples do not depend on each other, so a processor walks several of
 * them at once.  A run has no more than one array of positions: attributes of
 * fixed length after it have the same distance from it in every tuple.
 *
 * Positions are addresses instead of offsets.  Both are aligned the same way,
 * since a tuple's attributes begin at a multiple of MAXIMUM_ALIGNOF.
 */

/* Up to here, the loop over the skipped attributes of a run is unrolled. */
#define UNROLLED 3

/* ---- plan ---- */

static GjPageAttribute *
attribute_at(const GjPageRows *rows, int step)
{
	for (int i = 0; i < rows->nattributes; i++)
		if (rows->attributes[i].step == step)
			return &rows->attributes[i];
	return NULL;
}

/* Does a walk over this step have to find it? */
static bool
is_sought(const GjPageRows *rows, int step)
{
	const GjPageAttribute *a = attribute_at(rows, step);

	return a != NULL && a->fixed_offset < 0;
}

static void
place(GjPageRows *rows, int step, const GjPageRun *run, uint32 offset)
{
	GjPageAttribute *a = attribute_at(rows, step);

	if (a == NULL || a->fixed_offset >= 0)
		return;
	a->starts = run->starts;
	a->start = offset;
}

/* Adds the attributes of fixed length from this step on.  Returns their end. */
static int
plan_fixed(GjPageRows *rows, GjPageRun *run, int step)
{
	run->mask = rows->steps[step].mask;
	run->length = 0;
	for (; step < rows->nsteps; step++)
	{
		const GjPageStep *s = &rows->steps[step];
		uint32		offset = (run->length + s->mask) & ~(uint32) s->mask;

		/* the distance of one with a larger alignment may vary */
		if (s->length < 0 || s->mask > run->mask)
			break;
		place(rows, step, run, offset);
		run->length = offset + s->length;
	}
	return step;
}

/* Plans the run that begins at a step.  Returns its end. */
static int
plan_run(GjPageRows *rows, GjPageRun *run, int step)
{
	const GjPageStep *steps = rows->steps;

	run->starts = palloc(MaxHeapTuplesPerPage * sizeof(char *));
	run->target = GJ_RUN_NOTHING;
	run->skipped = 0;
	run->skip_mask = steps[step].mask;
	while (step < rows->nsteps && steps[step].length == -1 &&
		   steps[step].mask == run->skip_mask && !is_sought(rows, step))
	{
		run->skipped++;
		step++;
	}
	if (step == rows->nsteps)
		return step;
	if (steps[step].length > 0)
	{
		run->target = GJ_RUN_FIXED;
		return plan_fixed(rows, run, step);
	}
	if (steps[step].length == -1 && !is_sought(rows, step))
		return step;			/* one with another alignment */
	run->target = steps[step].length == -1 ? GJ_RUN_VARLENA : GJ_RUN_CSTRING;
	run->mask = steps[step].mask;
	place(rows, step, run, 0);
	return step + 1;
}

void
gj_page_runs_plan(GjPageRows *rows)
{
	int			step = rows->first_walk;

	rows->nruns = 0;
	rows->runs = palloc(Max(1, rows->nsteps - step) * sizeof(GjPageRun));
	while (step < rows->nsteps)
	{
		GjPageRun  *run = &rows->runs[rows->nruns++];

		step = plan_run(rows, run, step);
		run->end = step;
	}
}

/* ---- walk ---- */

static inline const char *
aligned(const char *p, uint8 mask)
{
	return (const char *) (((uintptr_t) p + mask) & ~(uintptr_t) mask);
}

/*
 * Most varlenas have a header of one byte, and are never padded.  A zero byte
 * is padding; it is never such a header.
 */
static inline bool
is_short(const char *p)
{
	uint8		header = (uint8) *p;

	return likely((header & 1) != 0 && header != 1);
}

static inline const char *
varlena_start(const char *p, uint8 mask)
{
	return likely(*p != 0) ? p : aligned(p, mask);
}

static inline const char *
varlena_end(const char *p)
{
	return p + (is_short(p) ? (uint8) *p >> 1 : VARSIZE_ANY(p));
}

static inline const char *
after_varlena(const char *p, uint8 mask)
{
	if (is_short(p))
		return p + ((uint8) *p >> 1);
	return varlena_end(varlena_start(p, mask));
}

static pg_attribute_always_inline void
walk(const GjPageRun *run, const char *const *from, uint32 offset, const char **to, int n,
	 int skipped, GjRunTarget target)
{
	const char **starts = run->starts;
	uint8		skip_mask = run->skip_mask;
	uint8		mask = run->mask;
	uint32		length = run->length;

	for (int j = 0; j < n; j++)
	{
		const char *p = from[j] + offset;

		for (int i = 0; i < skipped; i++)
			p = after_varlena(p, skip_mask);
		switch (target)
		{
			case GJ_RUN_FIXED:
				starts[j] = p = aligned(p, mask);
				p += length;
				break;
			case GJ_RUN_VARLENA:
				starts[j] = p = varlena_start(p, mask);
				p = varlena_end(p);
				break;
			case GJ_RUN_CSTRING:
				starts[j] = p = aligned(p, mask);
				p += strlen(p) + 1;
				break;
			case GJ_RUN_NOTHING:
				break;
		}
		to[j] = p;
	}
}

/* Makes a loop for each small number of skipped attributes. */
static pg_attribute_always_inline void
walk_unrolled(const GjPageRun *run, const char *const *from, uint32 offset,
			  const char **to, int n, GjRunTarget target)
{
	switch (run->skipped)
	{
		case 0:
			walk(run, from, offset, to, n, 0, target);
			break;
		case 1:
			walk(run, from, offset, to, n, 1, target);
			break;
		case 2:
			walk(run, from, offset, to, n, 2, target);
			break;
		case UNROLLED:
			walk(run, from, offset, to, n, UNROLLED, target);
			break;
		default:
			walk(run, from, offset, to, n, run->skipped, target);
			break;
	}
}

void
gj_page_run_walk(const GjPageRun *run, const char *const *from, uint32 offset,
				 const char **to, int n)
{
	switch (run->target)
	{
		case GJ_RUN_FIXED:
			walk_unrolled(run, from, offset, to, n, GJ_RUN_FIXED);
			break;
		case GJ_RUN_VARLENA:
			walk_unrolled(run, from, offset, to, n, GJ_RUN_VARLENA);
			break;
		case GJ_RUN_CSTRING:
			walk(run, from, offset, to, n, run->skipped, GJ_RUN_CSTRING);
			break;
		case GJ_RUN_NOTHING:
			walk(run, from, offset, to, n, run->skipped, GJ_RUN_NOTHING);
			break;
	}
}

/* ---- walk ---- */

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

int
gj_page_reach(const GjPageRows *rows, HeapTupleHeader tuple)
{
	const char *data = (const char *) tuple + tuple->t_hoff;
	bool		nulls = (tuple->t_infomask & HEAP_HASNULL) != 0;
	int			end = Min((int) HeapTupleHeaderGetNatts(tuple), rows->nsteps);
	uint32		offset = 0;

	for (int i = 0; i < end; i++)
		if (!nulls || !att_isnull(i, tuple->t_bits))
			(void) locate(&rows->steps[i], data, offset, &offset);
	return tuple->t_hoff + offset;
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
