/*
 * module.c - module initialization: registers settings, hooks and methods.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "fmgr.h"
#include "nodes/extensible.h"

#include "exec/node.h"
#include "foreign/wrapper.h"
#include "options.h"
#include "plan/state.h"
#include "stats/statements.h"

#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(.name = "gpujoin", .version = GPUJOIN_VERSION);
#else
PG_MODULE_MAGIC;
#endif

void		_PG_init(void);

static const CustomScanMethods *const nodes[] = {
	&gj_scan_methods, &gj_block_methods, &gj_feed_methods
};

/*
 * Has another library registered a node with a name of ours?  Registering it again
 * would be an error, and with session_preload_libraries no session could start.
 */
static bool
names_are_taken(void)
{
	for (Size i = 0; i < lengthof(nodes); i++)
	{
		const char *name = nodes[i]->CustomName;

		if (GetCustomScanMethods(name, true) == NULL)
			continue;
		if (!IsParallelWorker())
			ereport(WARNING,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("gpujoin is off in this session"),
					 errdetail("Another library has registered a custom scan \"%s\".", name),
					 errhint("Remove one of the two libraries from session_preload_libraries, local_preload_libraries and shared_preload_libraries.")));
		return true;
	}
	return false;
}

void
_PG_init(void)
{
	gj_install_statements();	/* before the prefix of the settings is closed */
	gj_define_options();
	if (names_are_taken())
		return;
	for (Size i = 0; i < lengthof(nodes); i++)
		RegisterCustomScanMethods(nodes[i]);
	gj_install_join_hook();
	gj_install_block_hooks();
	gj_install_notices();
	gj_install_rewrites();
	gj_install_object_hook();
}
