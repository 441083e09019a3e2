/*
 * feed/key_filter_protocol.c - filters that travel from small inputs to the feeds of
 * large ones.
 *
 * Every process says when it has fed its part of an input whose keys make a
 * filter.  When all have, the daemon makes the filter and sends it to those
 * that wait for it.  They feed the inputs in the same order (plan->order), in
 * which an input follows those that its filters come from: so a process that
 * waits never keeps another one waiting.  A process that fails leaves the job,
 * which then fails for all.
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "daemon/frame.h"
#include "feed/key_filter_protocol.h"

static bool
request(GjLink *link, int filter)
{
	struct gj_filter_get body = {.filter = filter};

	return gj_send(&link->conn, GJ_FILTER_GET, &body, sizeof(body), NULL, 0);
}

/* Takes the filter of the FILTER frame just received. */
static bool
take(GjLink *link, const GjPlan *plan, int input, GjKeyFilter *filters, bool *answered)
{
	GjConnection *conn = &link->conn;
	struct gj_filter body;
	GjKeyFilter *filter;

	if (conn->frame.type != GJ_FILTER || conn->frame.length != sizeof(body))
		return gj_fail(conn, "the daemon sent frame %u instead of a filter", conn->frame.type);
	memcpy(&body, conn->body, sizeof(body));
	if (body.filter >= (uint32) plan->nfilters ||
		plan->filters[body.filter].target.input != input || answered[body.filter] ||
		conn->nfds != (body.kind != GJ_FILTER_NONE))
		return gj_fail(conn, "the daemon sent a filter that was not requested");
	answered[body.filter] = true;
	if (body.kind == GJ_FILTER_NONE)
		return true;
	filter = &filters[body.filter];
	if (!gj_extent_map(&link->extents, gj_take_fd(conn, 0), body.extent, false,
					   &filter->extent))
		return false;
	return gj_key_filter_read(filter, filter->extent.base, link->extents.size, body.kind) ||
		gj_fail(conn, "the daemon sent a malformed filter");
}

bool
gj_key_filters_get(GjLink *link, const GjPlan *plan, int input, GjKeyFilter *filters)
{
	bool		answered[GJ_MAX_FILTERS] = {0};
	int			missing = 0;

	for (int i = 0; i < plan->nfilters; i++)
	{
		const GjFilter *f = &plan->filters[i];
		const GjColumn *column;
		int			length;

		if (f->target.input != input)
			continue;
		column = &plan->inputs[input].columns[f->target.column];
		length = get_typlen(column->type);
		filters[i] = (GjKeyFilter)
		{
			.column = column, .copy = gj_copy_of(column, length), .length = length
		};
		gj_quick_numeric_init(&filters[i].numeric, column->scale, false);
		if (!request(link, i))
			return false;
		missing++;
	}
	for (; missing > 0; missing--)
		if (!gj_link_receive(link, -1) || !take(link, plan, input, filters, answered))
			return false;
	return true;
}

bool
gj_key_filters_drops_all(const GjPlan *plan, int input, const GjKeyFilter *filters)
{
	for (int i = 0; i < plan->nfilters; i++)
		if (plan->filters[i].target.input == input && filters[i].extent.base != NULL &&
			filters[i].keys == 0)
			return true;
	return false;
}

bool
gj_key_filters_return(GjLink *link, const GjPlan *plan, int input, GjKeyFilter *filters)
{
	for (int i = 0; i < plan->nfilters; i++)
	{
		GjKeyFilter *filter = &filters[i];
		struct gj_filtered body = {
			.filter = i,
			.tested = filter->tested,
			.dropped = filter->dropped
		};

		if (plan->filters[i].target.input != input || filter->extent.base == NULL)
			continue;
		if (!gj_extent_release(&link->extents, &filter->extent) ||
			!gj_send(&link->conn, GJ_FILTERED, &body, sizeof(body), NULL, 0))
			return false;
	}
	return true;
}

bool
gj_key_filters_fed(GjLink *link, const GjPlan *plan, int input)
{
	struct gj_input_fed body = {.input = input};

	for (int i = 0; i < plan->nfilters; i++)
		if (plan->filters[i].source.input == input)
			return gj_send(&link->conn, GJ_INPUT_FED, &body, sizeof(body), NULL, 0);
	return true;
}
