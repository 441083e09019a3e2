/*
 * daemon/load.h - the daemon's current load, as published in its status file.
 */
#ifndef DAEMON_LOAD_H
#define DAEMON_LOAD_H

#include "postgres.h"

#include "../shm/layout.h"

/*
 * Reads the load from an open status file, and retries if it met a concurrent
 * write.  Returns false, with *load all zero, if the load is unknown.
 */
extern bool gj_load_read(int fd, struct gj_load *load);

#endif							/* DAEMON_LOAD_H */
