/*
 * server.h - the little of a PostgreSQL server that the extension's readers
 * need, so that they can be tried without one, and what tries them.
 */
#ifndef GPUJOIN_SERVER_H
#define GPUJOIN_SERVER_H

#include <setjmp.h>

#include "postgres.h"

/* An error that the server would raise ends the input that is being tried. */
extern sigjmp_buf server_error;

/* Frees all that was allocated for an input. */
extern void server_reset(void);

/* Tries one input: frames.c or batch.c.  What it returns is compared with what
 * the input's maker knows. */
extern uint64 try_input(const uint8 *data, size_t size);

#endif							/* GPUJOIN_SERVER_H */
