/*
 * daemon/handshake.h - opens a connection to the daemon with a handshake.
 */
#ifndef DAEMON_HANDSHAKE_H
#define DAEMON_HANDSHAKE_H

#include "daemon/connection.h"

/*
 * Connects and negotiates the protocol, each within timeout_ms.  Afterwards
 * conn can check whether the daemon still answers.
 */
extern bool gj_greet(GjConnection *conn, const char *socket, int timeout_ms,
					 Size *extent_size);

#endif							/* DAEMON_HANDSHAKE_H */
