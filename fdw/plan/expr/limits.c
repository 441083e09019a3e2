/*
 * plan/expr/limits.c - the size of the job's document.
 *
 * The daemon refuses documents that are nested too deeply or too long.  So the
 * planner computes both from the texts that the document will consist of.
 */
#include "postgres.h"

#include "plan/expr/limits.h"
#include "plan/expr/parameters.h"

/* The daemon's limit, docs/job.md. */
#define MAX_LEVELS 256

/* The document, "static", and "root" enclose the joins. */
#define ENCLOSING_LEVELS 3

/* "keys": [{"left": {}}] */
#define KEYS_LEVELS 3

/* The same of the join with grouping sets. */
#define SETS_JOIN "\"keys\":[{\"left\":{}}]"

/* {"and": []} */
#define AND_LEVELS 2

int
gj_json_levels(const char *json)
{
	int			levels = 0;
	int			deepest = 0;
	bool		quoted = false;

	for (const char *c = json; *c != '\0'; c++)
	{
		if (*c == '"')			/* these texts have no escapes */
			quoted = !quoted;
		else if (quoted)
			continue;
		else if (*c == '{' || *c == '[')
		{
			levels++;
			deepest = Max(deepest, levels);
		}
		else if (*c == '}' || *c == ']')
			levels--;
	}
	return deepest;
}

/* The daemon's rule is joincore.ValueCanFail. */
bool
gj_json_can_fail(const char *json)
{
	static const char call[] = "{\"fn\":\"";

	if (strstr(json, "{\"decimal\":") != NULL)
		return true;
	while ((json = strstr(json, call)) != NULL)
	{
		json += sizeof(call) - 1;
		if (strncmp(json, "coalesce\"", 9) != 0 && strncmp(json, "substring\"", 10) != 0)
			return true;
	}
	return false;
}

static int
count_parameters(const char *json)
{
	static const char parameter[] = "{\"parameter\":";
	int			n = 0;

	while ((json = strstr(json, parameter)) != NULL)
	{
		json += sizeof(parameter) - 1;
		n++;
	}
	return n;
}

void
gj_add_text(GjTextSize *size, const char *json)
{
	int			levels = gj_json_levels(json);

	size->conditions++;
	size->levels = Max(size->levels, levels);
	size->bytes += strlen(json);
	size->parameters += count_parameters(json);
}

/* The conjunction of conditions of two groups. */
static GjTextSize
both(GjTextSize a, GjTextSize b)
{
	a.conditions += b.conditions;
	a.levels = Max(a.levels, b.levels);
	a.bytes += b.bytes;
	a.parameters += b.parameters;
	return a;
}

static int
conjunction_levels(GjTextSize size)
{
	return size.levels + (size.conditions > 1 ? AND_LEVELS : 0);
}

/* A join of trees of these sizes, with these conditions. */
static GjTreeSize
join_size(const GjTreeSize *left, const GjTreeSize *right, GjTextSize residual,
		  GjTextSize filter)
{
	GjTreeSize	size = {
		.levels = Max(KEYS_LEVELS, conjunction_levels(residual)),
		.bytes = left->bytes + right->bytes + residual.bytes + filter.bytes,
		.parameters = left->parameters + right->parameters +
		residual.parameters + filter.parameters,
	};

	size.levels = 1 + Max(size.levels, Max(left->levels, right->levels));
	if (filter.conditions > 0)
		size.levels = 1 + Max(size.levels, conjunction_levels(filter));
	return size;
}

/* As plan/join/joins.c describes the join and job/json.c writes it. */
void
gj_measure(const GjClauses *clauses, GjTree *tree)
{
	GjTextSize	residual = clauses->residual_size;
	GjTextSize	filter = clauses->filter_size;

	tree->size = join_size(&tree->left->size, &tree->right->size, residual, filter);
	if (tree->kind == JOIN_INNER)
		residual = both(residual, clauses->deferred_size);
	else
		filter = both(filter, clauses->deferred_size);
	tree->whole_size = join_size(&tree->left->whole_size, &tree->right->whole_size,
								 residual, filter);
}

bool
gj_document_fits(const GjTree *tree, const GjAggregate *aggregate)
{
	GjTreeSize	size = aggregate != NULL ? tree->whole_size : tree->size;
	const char *above[6] = {NULL};

	if (aggregate != NULL)
	{
		above[0] = aggregate->finest;
		above[1] = aggregate->finest != NULL ? SETS_JOIN : NULL;
		above[2] = aggregate->set_filter;
		above[3] = aggregate->members;
		above[4] = aggregate->check;
		above[5] = aggregate->having;
	}

	for (int i = 0; i < (int) lengthof(above); i++)
	{
		int			own;

		if (above[i] == NULL)
			continue;
		own = gj_json_levels(above[i]);
		size.levels = 1 + Max(size.levels, own);
		size.bytes += strlen(above[i]);
		size.parameters += count_parameters(above[i]);
	}
	return ENCLOSING_LEVELS + size.levels <= MAX_LEVELS &&
		size.bytes <= GJ_MAX_EXPRESSION_BYTES && size.parameters <= GJ_MAX_PARAMETERS;
}
