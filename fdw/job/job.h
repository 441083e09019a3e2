/*
 * job/job.h - a job, as planning describes it to execution.
 *
 * Planning and execution communicate through one structure, GjPlan.  Planning
 * writes it to CustomScan.custom_private, and execution reads it back.  It
 * contains only positions and text.  Vars and Params stay in the fields that
 * set_plan_references processes.
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "../shm/layout.h"
#include "options.h"

/* It takes less time to feed a smaller table than to ask whether it is kept. */
#define GJ_LEAST_KEPT_BLOCKS 16

typedef enum GjFeed
{
	GJ_FEED_PAGE,				/* columns directly from heap pages */
	GJ_FEED_CHILD,				/* tuples of the child plan */
	GJ_FEED_MIRROR				/* nothing: the daemon has the rows of a foreign table */
} GjFeed;

/* Representation in a column of the child's datum. */
typedef enum GjForm
{
	GJ_FORM_VALUE,				/* the value's bytes; varlena with header */
	GJ_FORM_DECIMAL,			/* numeric(p <= 18, s) as value * 10^s in an
								 * int64, NaN as INT64_MIN; also a payload */
	GJ_FORM_NUMERIC_KEY,		/* canonical varlena: equal numerics, equal bytes */
	GJ_FORM_BPCHAR_KEY,			/* varlena without trailing blanks */
	GJ_FORM_NAME_KEY,			/* name as a varlena of its bytes before the first
								 * zero */
	GJ_FORM_FLOAT_KEY,			/* float4 or float8 in 8 bytes, see job/key_forms.h */
	GJ_FORM_FLOAT_ORDER,		/* the same, with the order of floats */
	GJ_FORM_DATE_KEY,			/* date as the timestamp that equals it */
	GJ_FORM_INTERVAL_KEY,		/* interval as its span in 16 bytes */
	GJ_FORM_UNSCALED,			/* numeric of any scale as value * 10^scale in an
								 * int64, NaN as INT64_MIN */
	GJ_FORM_SCALE,				/* numeric as its number of decimals */
	GJ_FORM_INTEGER				/* computed by the daemon: a signed integer of
								 * width bytes, 16 at most; of 32: unsigned */
} GjForm;

typedef struct GjColumn
{
	int			resno;			/* in the child plan's target list, from 1 */
	AttrNumber	attnum;			/* of the relation; computed: a number above all
								 * of them */
	Expr	   *computed;		/* what the child computes; NULL: a column of the
								 * relation */
	Oid			type;
	int32		typmod;
	Oid			collation;
	GjForm		form;
	enum gj_encoding encoding;
	int			width;			/* layout.h: gj_column.width */
	int			align;			/* layout.h: gj_column.align */
	int			scale;			/* GJ_FORM_DECIMAL: s; GJ_FORM_UNSCALED */
	int			avg_width;		/* planner's estimate of bytes per value */
	bool		is_key;			/* compared by some join of the job */
} GjColumn;

/*
 * A table of another server, whose rows the daemon has or fetches.  The columns are
 * those of the input, hidden ones too.
 */
typedef struct GjMirror
{
	Oid			serverid;
	Oid			userid;			/* whose user mapping is used; 0: the current user */
	char	   *schema;			/* names of that server */
	char	   *table;
	char	  **columns;		/* their names there */
	bool	   *text;			/* the value is wanted as the other server's text */
} GjMirror;

typedef struct GjInput
{
	GjFeed		feed;
	bool		partial;		/* parallel node: every participant feeds a
								 * share; otherwise one elected participant
								 * feeds all */
	Oid			relid;			/* of the table, or InvalidOid */
	char	   *name;			/* of a subquery, else NULL */
	Index		rti;			/* of it, before set_plan_references shifts it */
	double		rows;			/* planner's estimate, whole input */
	double		passing;		/* fraction of them that pass filters */
	int			ncolumns;		/* that are fed */
	GjColumn   *columns;		/* those, then nhidden more */

	/*
	 * The daemon may keep the input's columns.  It then evaluates the table's
	 * conditions itself, on all rows of the table, so it needs the columns that
	 * only they read.  Those are not in the child's target list: resno is 0.
	 * An input of the feed GJ_FEED_MIRROR has these, too, but is not keepable.
	 */
	double		kept;			/* share of its blocks that the planner expected the
								 * daemon to have */
	bool		keepable;
	int			nhidden;
	char	   *condition;		/* of the table, in the daemon's language; NULL:
								 * none */
	GjMirror   *mirror;			/* NULL unless feed is GJ_FEED_MIRROR */
} GjInput;

/* What became of the blocks of an input that the daemon keeps, in one execution. */
typedef struct GjBlockCounts
{
	uint64		kept;			/* served without a look at the table */
	uint64		proved;			/* served because the page has not changed */
	uint64		fed;
	uint64		captured;		/* of those: to be kept */
} GjBlockCounts;

typedef struct GjOutput
{
	int			input;
	int			column;
} GjOutput;

/* How a parameter becomes an integer, or bytes. */
typedef enum GjRounding
{
	GJ_ROUND_NONE,				/* it is one */
	GJ_ROUND_DOWN,				/* a numeric, at a scale */
	GJ_ROUND_UP,
	GJ_ROUND_TEXT				/* it is a text */
} GjRounding;

/*
 * A value that is known when an execution starts.  Its expression is in
 * GjPlan.parameter_exprs at the same position.
 */
typedef struct GjParameter
{
	GjRounding	rounding;
	int			scale;
} GjParameter;

/* How the two columns of a key are compared, docs/internals/job.md. */

typedef enum GjKeyClass
{
	GJ_CLASS_INT,
	GJ_CLASS_BYTES,
	GJ_CLASS_VARLENA
} GjKeyClass;

/*
 * One join of the job; key k compares left[k] with right[k].  The conditions
 * that the daemon evaluates exist twice: as its JSON, or NULL if there are
 * none, and as a list of expressions for EXPLAIN.  core does not process the
 * latter, so their Vars have the numbers that the relations had in planning.
 */
typedef struct GjJoin
{
	JoinType	kind;			/* inner, left, full, semi or anti */
	double		rows;			/* planner's estimate of the daemon's result */
	int			left_inputs;	/* below its left side; see GjPlan.joins */
	char	   *residual;		/* of pairs of rows */
	char	   *filter;			/* of the join's result */
	List	   *residual_exprs;
	List	   *filter_exprs;
	int			nkeys;
	GjOutput   *left;
	GjOutput   *right;
	GjKeyClass *classes;
} GjJoin;

/*
 * Rows of target's input are fed only if their key is one of source's, in an
 * input that has been fed before.  Both columns are integers.
 */
typedef struct GjFilter
{
	GjOutput	source;
	GjOutput	target;
	double		passing;		/* planner's estimate: fraction of rows */
} GjFilter;

/* How an entry of custom_scan_tlist is made from columns of the daemon's result. */
typedef enum GjFinish
{
	GJ_FINISH_VALUE,			/* the column as it is */
	GJ_FINISH_INT8,				/* an integer of any width as int8 */
	GJ_FINISH_NUMERIC,			/* an integer and a scale as numeric */
	GJ_FINISH_AVERAGE,			/* such a numeric, divided by a count */
	GJ_FINISH_VAR_POP,			/* from such a sum, a sum of squares and a count */
	GJ_FINISH_VAR_SAMP,
	GJ_FINISH_STDDEV_POP,
	GJ_FINISH_STDDEV_SAMP,
	GJ_FINISH_FLOAT4,			/* an integer of GJ_FORM_FLOAT_ORDER */
	GJ_FINISH_FLOAT8,
	GJ_FINISH_PACKED			/* an integer and its own scale (numeric/decimal.h) */
} GjFinish;

typedef struct GjResult
{
	GjFinish	finish;
	int			column;			/* of the daemon's result */
	int			scale;			/* decimals of the integer */
	int			display_scale;	/* column with the scale to show, or -1 */
	int			count;			/* column with the number of values, or -1 */
	int			squares;		/* column with the sum of their squares, or -1 */
} GjResult;

/* The aggregation at the root of a query block's job. */
typedef struct GjAggregate
{
	double		groups;			/* planner's estimate */
	char	   *members;		/* of the job's aggregate node, docs/internals/job.md */
	char	   *filter;			/* condition on its result, or NULL */
	int			ncolumns;		/* of its result */
	GjColumn   *columns;
	int			nkeys;			/* the first entries of custom_scan_tlist */
	int			nresults;		/* all entries, in order */
	GjResult   *results;

	/*
	 * Grouping sets: an aggregation by all keys comes first.  Each of its groups
	 * is joined with every row of the last input, which is a grouping set, and
	 * members combine the groups of each set.
	 */
	List	   *sets;			/* of lists of positions of keys; NIL: none */
	char	   *finest;			/* members of the aggregation by all keys */
	double		finest_groups;	/* planner's estimate */
	GjOutput	finest_key;		/* the constant that joins it with the sets */
	char	   *set_filter;		/* condition on the joined rows, or NULL */
} GjAggregate;

/* GjPlan.first_relid: set_plan_references leaves the numbers as they are */
#define GJ_NOT_SHIFTED (-1)

typedef struct GjPlan
{
	bool		parallel;		/* parallel-aware node */
	int			workers;		/* planned */
	int			first_relid;	/* of the joined relations, or that of the first
								 * column in custom_scan_tlist, before
								 * set_plan_references shifts them; 0: unknown */
	int			ninputs;		/* custom_plans: one child per input, in order,
								 * then the native child if there is one, then
								 * a Result whose targets are the parameters,
								 * if there are any */
	bool		has_native;		/* false for an OffloadFeed */
	bool		forced;			/* by gpujoin.debug_force: the job was not expected to
								 * take less time than the native plan */
	GjInput    *inputs;
	int			nparameters;
	int			plain_parameters;	/* those after these are read only by the
									 * conditions of keepable inputs */
	GjParameter *parameters;
	List	   *parameter_exprs;	/* set by gj_plan_read() */
	bool		keeps_nothing;	/* in this scan: by gpujoin.keep, or since the
								 * daemon cannot take one of the latter; set by
								 * gj_evaluate_parameters() */
	double		native_ns;		/* that the native plan is expected to take, here or in
								 * each of its processes; 0: not estimated */
	bool		relies_on_kept; /* if all inputs were fed, the native plan would be
								 * expected to take less time */
	bool		promised;		/* so it would now; but the daemon can keep them, and
								 * does so once they have been used again */
	const char *defect;			/* an error of ours because of which the node runs
								 * its native child; NULL: none.  If the planner
								 * has met it, there are no inputs and no joins */
	int			noutputs;		/* entries of custom_scan_tlist, in order */
	GjOutput   *outputs;

	/*
	 * Position of output i in the native child's target list, from 1, or 0 for
	 * a column that only plan.qual reads.  The native child has already
	 * applied every qual.  So plan.qual is not evaluated again on its rows,
	 * and columns with 0 are NULL.
	 */
	int		   *native_resnos;

	/*
	 * The job's joins in post-order of its tree.  The leaves of the tree are
	 * the inputs in order, so left_inputs suffices to reconstruct it.
	 */
	int			njoins;
	GjJoin	   *joins;

	/*
	 * The order in which every process feeds the inputs, and the filters.  An
	 * input comes after those that its filters come from.
	 */
	int		   *order;			/* ninputs */
	int			nfilters;
	GjFilter   *filters;

	/*
	 * The aggregation of an OffloadBlock or OffloadFeed, or NULL for an OffloadJoin.  The
	 * outputs are then
	 * all columns of its result, which follows the inputs in number, and
	 * native_resnos is NULL: the native child delivers the node's own target
	 * list, above HAVING.
	 */
	GjAggregate *aggregate;
} GjPlan;

/* What changes from one execution of a plan to the next, docs/internals/job.md. */
typedef struct GjRuntime
{
	const char *parameters;		/* their values, separated by commas */
	GjAlgorithm algorithm;
	const char **tokens;		/* ninputs: the pins of mirrors, else NULL; NULL: no
								 * input is a mirror */
	int64		sample;			/* rows of each mirror, chosen at random; 0: all */
	int64		seed;			/* of that choice */
} GjRuntime;

/* Does the daemon evaluate the table's conditions, or may it? */
static inline bool
gj_has_condition(const GjInput *input)
{
	return input->keepable || input->feed == GJ_FEED_MIRROR;
}

/* May the daemon keep the columns of an input, in this scan? */
static inline bool
gj_may_keep(const GjPlan *plan, int input)
{
	return plan->inputs[input].keepable && !plan->keeps_nothing;
}

/* Is an input fed through key filters? */
static inline bool
gj_is_filtered(const GjPlan *plan, int input)
{
	for (int i = 0; i < plan->nfilters; i++)
		if (plan->filters[i].target.input == input)
			return true;
	return false;
}

/* ---- job/write.c, job/read.c ---- */

extern List *gj_plan_write(const GjPlan *plan);

extern GjPlan *gj_plan_read(CustomScan *scan);

/* The same of these lists, without the expressions of its parameters. */
extern GjPlan *gj_plan_read_lists(const List *lists);

/* ---- job/json.c ---- */

/* Version of the job's format, docs/internals/job.md. */
#define GJ_JOB_VERSION 3

/* The name by which the daemon knows a table: schema.table. */
extern char *gj_table_name(Oid relid);

/*
 * Returns the member "static" of the job as palloc'd text.  Looks up the names of the
 * tables.
 */
extern char *gj_static_json(const GjPlan *plan);

/* ---- job/columns.c ---- */

/*
 * Is every value of this type an int64 times 10^-s, as for numeric(p, s)?
 * Sets s.
 */
extern bool gj_decimal_scale(Oid type, int32 typmod, int *scale);

/*
 * Fills in form, encoding, width, align and scale for a column that carries
 * the type's values unchanged.  Returns false if the type is not supported.
 */
extern bool gj_describe_payload(Oid type, int32 typmod, GjColumn *column);

/* The same for a column that only carries a canonical form of a key. */
extern void gj_describe_key(GjForm form, GjColumn *column);

/*
 * Does the daemon make the payload of the type's values from what another server sends of
 * them?  Values of other types are read from there as text.
 */
extern bool gj_is_encoded(Oid type);

/* Is it such a form, which is compared but cannot be returned? */
extern bool gj_is_key_form(GjForm form);

/* Expected bytes per value in a batch, not counting the validity bit. */
extern int64 gj_column_bytes(const GjColumn *column);

/*
 * Relative cost of feeding or returning the column; 1 is a fixed column of 8
 * bytes.
 */
extern double gj_column_weight(const GjColumn *column);

#endif							/* JOB_JOB_H */
