/*
 * gpujoin.c - module initialization: registers settings, hooks and methods.
 */
#include "postgres.h"

#include "fmgr.h"

#include "gpujoin.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	gj_define_options();
	RegisterCustomScanMethods(&gj_scan_methods);
	RegisterCustomScanMethods(&gj_block_methods);
	RegisterCustomScanMethods(&gj_feed_methods);
	gj_install_join_hook();
	gj_install_block_hooks();
	gj_install_notices();
}
