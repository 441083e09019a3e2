/*
 * daemon_handshake.h - what a connection begins with.
 */
#ifndef GPUJOIN_DAEMON_HANDSHAKE_H
#define GPUJOIN_DAEMON_HANDSHAKE_H

#include "daemon_connection.h"

/* Connects and agrees on the protocol, each within timeout_ms. */
extern bool gj_greet(GjConnection *conn, const char *socket, int timeout_ms,
					 Size *extent_size);

/* Does the daemon behind conn still greet?  It gets conn->patience_ms, and more
 * while it is starved of processor time.  Else fails conn with the reason. */
extern bool gj_answers(GjConnection *conn);

#endif							/* GPUJOIN_DAEMON_HANDSHAKE_H */
