/*
 * daemon/breaker.h - when a daemon that failed is asked again.
 */
#ifndef DAEMON_BREAKER_H
#define DAEMON_BREAKER_H

#include "daemon/connection.h"

/*
 * Why the daemon at socket is not to be asked now for a job that feeds this
 * many bytes, or NULL if it is.  The text is valid until the next call; *fault
 * is the kind of the failures.
 */
extern const char *gj_breaker_reason(const char *socket, double bytes, GjFault *fault);

/* A job failed after cost_us, from the first attempt to connect on. */
extern void gj_breaker_failed(const char *socket, double bytes, GjFault fault,
							  uint64 cost_us, const char *reason);

/* Another daemon has taken the place of the one that failed. */
extern void gj_breaker_forget(void);

/* A job of this many bytes has been executed. */
extern void gj_breaker_succeeded(const char *socket, double bytes);

#endif							/* DAEMON_BREAKER_H */
