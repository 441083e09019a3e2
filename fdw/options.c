/*
 * options.c - the settings gpujoin.*.
 *
 * Costs are in the planner's unit.  The defaults assume that one nanosecond of
 * a core costs GJ_NS_COST.
 */
#include "postgres.h"

#include <float.h>
#include <limits.h>

#include "utils/guc.h"
#include "utils/plancache.h"

#include "options.h"

bool		gj_enabled = true;
bool		gj_debug_force = false;
bool		gj_enable_aggregates = true;
bool		gj_float_aggregates = false;
bool		gj_estimate_native = true;
bool		gj_enable_key_filters = true;
bool		gj_verify = false;
bool		gj_explain_rejected = false;
char	   *gj_socket = NULL;
double		gj_min_rows = 100000;
int			gj_queue_timeout = 2000;
int			gj_connect_timeout = 1000;
double		gj_role_share = 0.5;
int			gj_max_job_memory = -1;
double		gj_startup_cost = 1000;
double		gj_page_row_cost = 0.0015;
double		gj_cached_page_cost = 0.35;
double		gj_page_column_cost = 0.0007;
double		gj_page_walk_cost = 0.0002;
double		gj_child_row_cost = 0.003;
double		gj_child_column_cost = 0.0015;
double		gj_return_row_cost = 0.0033;
double		gj_return_column_cost = 0.0008;
double		gj_ns_cost = 0.0003;	/* GJ_NS_COST */
double		gj_cost_margin = 0.1;
int			gj_algorithm = GJ_ALGORITHM_AUTO;
int			gj_keep = GJ_KEEP_AUTO;
char	   *gj_freshness = NULL;
int			gj_log_fallbacks = GJ_LOG_LOG;

static int	without = GJ_CORRECTIONS;	/* gpujoin.debug_without */

static const struct config_enum_entry corrections[] = {
	{"none", GJ_CORRECTIONS, false},
	{"columns", GJ_COLUMNS_GROWTH, false},
	{"ranges", GJ_RANGES_GROWTH, false},
	{"statistics", GJ_STATISTICS_GROWTH, false},
	{"groups", GJ_GROUPS_GROWTH, false},
	{"table_order", GJ_TABLE_ORDER, false},
	{"probes", GJ_PROBES_FOUND, false},
	{"unit_without_ours", GJ_UNIT_WITHOUT_OURS, false},
	{"unit_of_path", GJ_UNIT_OF_PATH, false},
	{"unit_of_order", GJ_UNIT_OF_ORDER, false},
	{"topmost", GJ_TOPMOST_LAST, false},
	{"many_results", GJ_MANY_RESULTS, false},
	{"prefetch", GJ_PREFETCH, false},
	{NULL, 0, false}
};

bool
gj_corrects(GjCorrection correction)
{
	return without != (int) correction;
}

static const struct config_enum_entry algorithms[] = {
	{"auto", GJ_ALGORITHM_AUTO, false},
	{"phj-om", GJ_ALGORITHM_PHJ_OM, false},
	{"phj-um", GJ_ALGORITHM_PHJ_UM, false},
	{"smj-om", GJ_ALGORITHM_SMJ_OM, false},
	{"smj-um", GJ_ALGORITHM_SMJ_UM, false},
	{"npj", GJ_ALGORITHM_NPJ, false},
	{NULL, 0, false}
};

static const struct config_enum_entry keeps[] = {
	{"auto", GJ_KEEP_AUTO, false},
	{"off", GJ_KEEP_OFF, false},
	{"always", GJ_KEEP_ALWAYS, false},
	{NULL, 0, false}
};

static const struct config_enum_entry fallback_logs[] = {
	{"off", GJ_LOG_OFF, false},
	{"log", GJ_LOG_LOG, false},
	{"notice", GJ_LOG_NOTICE, false},
	{NULL, 0, false}
};

const char *
gj_algorithm_name(GjAlgorithm algorithm)
{
	const struct config_enum_entry *entry = algorithms;

	while (entry->name != NULL && entry->val != (int) algorithm)
		entry++;
	return entry->name;
}

bool
gj_exceeds_job_memory(double bytes)
{
	return gj_max_job_memory >= 0 && bytes > gj_max_job_memory * 1024.0;
}

/* Existing plans may have jobs that are too large now, or lack some that are not. */
static void
assign_max_job_memory(int kilobytes, void *extra)
{
	if (kilobytes != gj_max_job_memory)
		ResetPlanCache();
}

static void
define_cost(const char *name, const char *description, double *variable)
{
	DefineCustomRealVariable(name, description, NULL, variable, *variable,
							 0, DBL_MAX, PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
}

static void
define_bool(const char *name, const char *description, const char *more,
			bool *variable, int flags)
{
	DefineCustomBoolVariable(name, description, more, variable, *variable,
							 PGC_USERSET, flags, NULL, NULL, NULL);
}

/* A parallel join cannot be verified, so existing plans must be discarded. */
static void
assign_verify(bool verify, void *extra)
{
	if (verify != gj_verify)
		ResetPlanCache();
}

/* Existing plans that add floats in the daemon return other digits than the setting asks for. */
static void
assign_float_aggregates(bool offload, void *extra)
{
	if (offload != gj_float_aggregates)
		ResetPlanCache();
}

bool
gj_parse_freshness(const char *value, int *ms)
{
	*ms = GJ_FRESHNESS_LATEST;
	return strcmp(value, "latest") == 0 || (parse_int(value, ms, GUC_UNIT_MS, NULL) && *ms >= 0);
}

static bool
check_freshness(char **value, void **extra, GucSource source)
{
	int			ms;

	if ((*value)[0] == '\0' || gj_parse_freshness(*value, &ms))
		return true;
	GUC_check_errhint("The value is \"latest\", or a time such as \"5s\".");
	return false;
}

void
gj_define_options(void)
{
	define_bool("gpujoin.enabled",
				"Lets the planner offload joins to gpujoind.", NULL,
				&gj_enabled, GUC_EXPLAIN);
	define_bool("gpujoin.debug_force",
				"Offloads every join that can be offloaded, regardless of its cost.",
				"This is for testing only.",
				&gj_debug_force, GUC_EXPLAIN | GUC_NOT_IN_SAMPLE);
	define_bool("gpujoin.enable_aggregates",
				"Offloads aggregations together with the joins below them.",
				"If it is off, gpujoind returns joined rows and PostgreSQL aggregates them.",
				&gj_enable_aggregates, GUC_EXPLAIN);
	DefineCustomBoolVariable("gpujoin.float_aggregates",
							 "Offloads sums and averages of floats.",
							 "gpujoind adds in higher precision, so results differ from PostgreSQL's in their last digits, as those of PostgreSQL's parallel plans do.",
							 &gj_float_aggregates, gj_float_aggregates, PGC_USERSET, GUC_EXPLAIN,
							 NULL, assign_float_aggregates, NULL);
	define_bool("gpujoin.estimate_native",
				"Compares offloaded plans with native ones by the times that both are expected to take.",
				"If it is off, they are compared with PostgreSQL's costs of native plans.",
				&gj_estimate_native, GUC_EXPLAIN);
	define_bool("gpujoin.enable_key_filters",
				"Filters rows of large inputs by the keys of small ones before they are fed to gpujoind.",
				"Small inputs of a join are fed first.",
				&gj_enable_key_filters, GUC_EXPLAIN);
	DefineCustomBoolVariable("gpujoin.verify",
							 "Runs each offloaded join natively too and raises an error if the rows differ.",
							 "This takes the time of both plans and the memory of both results.",
							 &gj_verify, gj_verify, PGC_USERSET, GUC_EXPLAIN,
							 NULL, assign_verify, NULL);
	DefineCustomEnumVariable("gpujoin.algorithm",
							 "Algorithm by which gpujoind executes joins.",
							 "With auto, gpujoind chooses one for each join. A join that cannot be executed by the algorithm is executed by another one, and EXPLAIN ANALYZE shows why.",
							 &gj_algorithm, gj_algorithm, algorithms,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomEnumVariable("gpujoin.keep",
							 "Keeps columns of tables in gpujoind for later joins.",
							 "With auto, gpujoind keeps the columns that joins use repeatedly; with always, from the first use on. Rows are read from the table wherever it has changed.",
							 &gj_keep, gj_keep, keeps,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomStringVariable("gpujoin.freshness",
							   "Sets how old the rows of foreign servers may be.",
							   "With latest, a statement sees what its source has committed before. A time permits rows that are at most that old. If it is empty, the options of tables and servers apply.",
							   &gj_freshness, "", PGC_USERSET, GUC_EXPLAIN,
							   check_freshness, NULL, NULL);
	define_bool("gpujoin.explain_rejected",
				"Emits notices that say why joins were not offloaded.", NULL,
				&gj_explain_rejected, 0);
	DefineCustomEnumVariable("gpujoin.log_fallbacks",
							 "Reports why native plans run in place of jobs that the planner chose.",
							 "With log, to the server's log; with notice, to the client. A process reports each reason at most once a minute.",
							 &gj_log_fallbacks, gj_log_fallbacks, fallback_logs,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("gpujoin.socket",
							   "Sets the socket on which gpujoind listens.", NULL,
							   &gj_socket, "/run/gpujoin/gpujoind.sock",
							   PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomRealVariable("gpujoin.min_rows",
							 "Sets the minimum number of input rows of an offloaded join.",
							 "This is the expected number of rows that native scans of all its tables read.",
							 &gj_min_rows, gj_min_rows, 0, DBL_MAX,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomIntVariable("gpujoin.queue_timeout",
							"Sets the maximum time to wait for gpujoind to admit a join.",
							"After that time the join runs natively. 0 disables waiting.",
							&gj_queue_timeout, gj_queue_timeout, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("gpujoin.connect_timeout",
							"Sets the maximum time to wait for a connection to gpujoind.",
							"After that time the join runs natively. While a backend waits for a join, it checks at this interval whether gpujoind still answers. If gpujoind gets too little processor time, the backend waits up to ten times as long.",
							&gj_connect_timeout, gj_connect_timeout, 1, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomRealVariable("gpujoin.role_share",
							 "Sets the fraction of gpujoind's memory that the joins of one role may reserve together.",
							 "The joins of one session may reserve half of that. The only join of a role or a session may reserve more. 1 disables the limit, which does not apply to superusers.",
							 &gj_role_share, gj_role_share, 0, 1,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpujoin.max_job_memory",
							"Sets the maximum memory in gpujoind that a join is expected to need.",
							"A join that is expected to need more runs natively. -1 disables the limit.",
							&gj_max_job_memory, gj_max_job_memory, -1, MAX_KILOBYTES,
							PGC_SUSET, GUC_UNIT_KB | GUC_EXPLAIN, NULL, assign_max_job_memory, NULL);

	define_cost("gpujoin.startup_cost",
				"Sets the planner's estimate of the cost of starting a job in gpujoind.", &gj_startup_cost);
	define_cost("gpujoin.cached_page_cost",
				"Sets the fraction of the cost of reading a heap page that is charged for a page expected in memory.",
				&gj_cached_page_cost);
	define_cost("gpujoin.page_row_cost",
				"Sets the planner's estimate of the cost of reading a row from a heap page.", &gj_page_row_cost);
	define_cost("gpujoin.page_column_cost",
				"Sets the planner's estimate of the cost of copying a column from a heap page.",
				&gj_page_column_cost);
	define_cost("gpujoin.page_walk_cost",
				"Sets the planner's estimate of the cost of passing over a column on a heap page.",
				&gj_page_walk_cost);
	define_cost("gpujoin.child_row_cost",
				"Sets the planner's estimate of the cost of taking a row from a child plan.", &gj_child_row_cost);
	define_cost("gpujoin.child_column_cost",
				"Sets the planner's estimate of the cost of copying a column from a child plan.",
				&gj_child_column_cost);
	define_cost("gpujoin.return_row_cost",
				"Sets the planner's estimate of the cost of returning a row of the result.", &gj_return_row_cost);
	define_cost("gpujoin.return_column_cost",
				"Sets the planner's estimate of the cost of returning a column of the result.",
				&gj_return_column_cost);
	define_cost("gpujoin.ns_cost",
				"Sets the planner's estimate of the cost of a nanosecond of work in gpujoind.",
				&gj_ns_cost);

	define_cost("gpujoin.cost_margin",
				"Sets the fraction by which the estimated cost of an offloaded join's own work is increased.",
				&gj_cost_margin);

	DefineCustomEnumVariable("gpujoin.debug_without",
							 "Leaves out one correction of the cost model, to measure what it gains.", NULL,
							 &without, without, corrections,
							 PGC_USERSET, GUC_EXPLAIN | GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);

	MarkGUCPrefixReserved("gpujoin");
}
