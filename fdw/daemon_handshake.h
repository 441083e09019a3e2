/*
 * daemon_handshake.h - what a connection begins with.
 */
#ifndef GPUJOIN_DAEMON_HANDSHAKE_H
#define GPUJOIN_DAEMON_HANDSHAKE_H

#include "daemon_connection.h"

/* Connects and agrees on the protocol, each within timeout_ms.  From then on
 * conn can ask whether the daemon still answers. */
extern bool gj_greet(GjConnection *conn, const char *socket, int timeout_ms,
					 Size *extent_size);

#endif							/* GPUJOIN_DAEMON_HANDSHAKE_H */
