/*
 * daemon_failure.c - the reason why a connection to the daemon is unusable.
 */
#include "postgres.h"

#include "daemon_connection.h"

bool
gj_fail(GjConnection *conn, const char *format,...)
{
	va_list		args;

	if (conn->failure[0] != '\0')
		return false;
	va_start(args, format);
	vsnprintf(conn->failure, sizeof(conn->failure), format, args);
	va_end(args);
	return false;
}

int
gj_failure_detail(const GjConnection *conn)
{
	return errdetail_internal("%c%s.", pg_toupper((unsigned char) conn->failure[0]),
							  conn->failure[0] != '\0' ? conn->failure + 1 : "");
}
