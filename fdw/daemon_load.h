/*
 * daemon_load.h - what the daemon has to do, as its status file says.
 */
#ifndef GPUJOIN_DAEMON_LOAD_H
#define GPUJOIN_DAEMON_LOAD_H

#include "postgres.h"

#include "../shm/layout.h"

/* Reads the load from an open status file, again where a write was under way.
 * false: it is unknown, and *load all zero. */
extern bool gj_load_read(int fd, struct gj_load *load);

#endif							/* GPUJOIN_DAEMON_LOAD_H */
