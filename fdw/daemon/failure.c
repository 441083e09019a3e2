/*
 * daemon/failure.c - the reason why a connection to the daemon is unusable.
 */
#include "postgres.h"

#include "daemon/connection.h"

static void record(GjConnection *conn, GjFault fault, const char *format, va_list args)
			pg_attribute_printf(3, 0);

static void
record(GjConnection *conn, GjFault fault, const char *format, va_list args)
{
	if (conn->failure[0] != '\0')
		return;
	vsnprintf(conn->failure, sizeof(conn->failure), format, args);
	conn->fault = fault;
}

bool
gj_fail(GjConnection *conn, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	record(conn, GJ_FAULT_NONE, format, args);
	va_end(args);
	return false;
}

bool
gj_fail_by(GjConnection *conn, GjFault fault, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	record(conn, fault, format, args);
	va_end(args);
	return false;
}

int
gj_failure_detail(const GjConnection *conn)
{
	return errdetail_internal("%c%s.", pg_toupper((unsigned char) conn->failure[0]),
							  conn->failure[0] != '\0' ? conn->failure + 1 : "");
}
