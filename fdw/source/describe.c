/*
 * source/describe.c - writes servers and tables as requests describe them.
 *
 * The options of a user mapping have secrets, which are in nothing but requests.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "job/job.h"
#include "source/request.h"
#include "source/source.h"

/* What a user must be known by if the password is to prove it: not by the daemon's own user. */
#define BY_PASSWORD "password,md5,scram-sha-256"

static Oid
mapping_for(Oid serverid, Oid userid)
{
	return GetSysCacheOid2(USERMAPPINGUSERSERVER, Anum_pg_user_mapping_oid,
						   ObjectIdGetDatum(userid), ObjectIdGetDatum(serverid));
}

Oid
gj_mapping_of(Oid serverid, Oid userid)
{
	Oid			own = mapping_for(serverid, userid);

	return OidIsValid(own) ? own : mapping_for(serverid, InvalidOid);
}

/* The options that are not libpq's. */
static bool
is_keyword(const char *name)
{
	static const char *const others[] = {
		"password_required", "publication", "slot", "max_retained_wal", "freshness", "freshness_timeout",
		"mix", "mirror", "use_remote_estimate"
	};

	for (Size i = 0; i < lengthof(others); i++)
		if (strcmp(name, others[i]) == 0)
			return false;
	return true;
}

static void
append_member(StringInfo json, const char *name, const char *value)
{
	if (json->data[json->len - 1] != '{')
		appendStringInfoString(json, ", ");
	escape_json(json, name);
	appendStringInfoString(json, ": ");
	escape_json(json, value);
}

/* Appends libpq's options, except those that are among the stronger ones. */
static void
append_keywords(StringInfo json, const List *options, const List *stronger)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (is_keyword(def->defname) && gj_option(stronger, def->defname) == NULL)
			append_member(json, def->defname, defGetString(def));
	}
}

static bool
is_set(const List *options, const char *name)
{
	const char *value = gj_option(options, name);

	return value != NULL && value[0] != '\0';
}

/*
 * The rule of postgres_fdw: who is no superuser proves to be the remote user by a
 * password, and not by what the user of the server and the daemon may do.
 */
static bool
lacks_password(const UserMapping *mapping)
{
	return !superuser_arg(mapping->userid) && gj_bool_option(mapping->options, "password_required", true) && !is_set(mapping->options, "password");
}

/*
 * May only a password be used?  All users of a mapping must connect in the same way,
 * because they share its session.
 */
static bool
connects_by_password(const UserMapping *mapping)
{
	return gj_bool_option(mapping->options, "password_required", true) && is_set(mapping->options, "password") &&
		(!superuser_arg(mapping->userid) || !OidIsValid(mapping_for(mapping->serverid, mapping->userid)));
}

const char *
gj_why_not_asked(Oid serverid, Oid userid)
{
	if (!OidIsValid(gj_mapping_of(serverid, userid)))
		return "there is no user mapping";
	if (lacks_password(GetUserMapping(userid, serverid)))
		return "the user mapping has no password";
	return NULL;
}

/* Does an option require_auth permit nothing but passwords? */
static bool
permits_passwords_only(const char *value)
{
	static const char *const methods[] = {"password", "md5", "scram-sha-256"};

	while (value != NULL && *value != '\0')
	{
		Size		length = strcspn(value, ",");
		bool		found = false;

		for (Size i = 0; i < lengthof(methods); i++)
			found = found || (strlen(methods[i]) == length && strncmp(value, methods[i], length) == 0);
		if (!found)
			return false;
		value += length;
		if (*value == '\0')
			return true;
		value++;
	}
	return false;
}

/* The option of the mapping, else that of the server, else "". */
static const char *
option_of(const ForeignServer *server, const UserMapping *mapping, const char *name)
{
	const char *value = gj_option(mapping->options, name);

	if (value == NULL)
		value = gj_option(server->options, name);
	return value != NULL ? value : "";
}

const char *
gj_slot_of(Oid serverid, Oid userid)
{
	return option_of(GetForeignServer(serverid), GetUserMapping(userid, serverid), "slot");
}

void
gj_append_source(StringInfo json, Oid serverid, Oid userid)
{
	const ForeignServer *server = GetForeignServer(serverid);
	const UserMapping *mapping = GetUserMapping(userid, serverid);
	const char *retained = option_of(server, mapping, "max_retained_wal");
	List	   *options = list_copy(mapping->options);
	int			megabytes = 0;

	if (lacks_password(mapping))
		ereport(ERROR,
				(errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
				 errmsg("password is required"),
				 errdetail("Non-superusers must provide a password in the user mapping.")));
	if (connects_by_password(mapping) && !permits_passwords_only(gj_option(server->options, "require_auth")))
		options = lappend(options, makeDefElem("require_auth", (Node *) makeString(BY_PASSWORD), -1));

	appendStringInfo(json, "\"source\": {\"database_encoding\": \"%s\", \"server\": %u, \"mapping\": %u, \"keywords\": {",
					 GetDatabaseEncodingName(), serverid, mapping->umid);
	append_keywords(json, server->options, options);
	append_keywords(json, options, NIL);
	appendStringInfoString(json, "}, \"publication\": ");
	escape_json(json, option_of(server, mapping, "publication"));
	appendStringInfoString(json, ", \"slot\": ");
	escape_json(json, option_of(server, mapping, "slot"));
	if (retained[0] != '\0' && !parse_int(retained, &megabytes, GUC_UNIT_MB, NULL))
		elog(ERROR, "option max_retained_wal of foreign server \"%s\" is not valid", server->servername);
	appendStringInfo(json, ", \"max_retained_wal\": " INT64_FORMAT "}", (int64) megabytes * 1024 * 1024);
}

/* ---- tables ---- */

void
gj_append_names(StringInfo json, Oid relid)
{
	char	   *schema;
	const char *table = gj_remote_name(relid, &schema);

	appendStringInfoString(json, "\"schema\": ");
	escape_json(json, schema);
	appendStringInfoString(json, ", \"table\": ");
	escape_json(json, table);
}

void
gj_append_columns(StringInfo json, Oid relid, const Bitmapset *columns)
{
	int			attnum = -1;

	while ((attnum = bms_next_member(columns, attnum)) >= 0)
	{
		int32		typmod;
		Oid			type;
		Oid			collation;

		get_atttypetypmodcoll(relid, attnum, &type, &typmod, &collation);
		appendStringInfo(json, "%s{\"name\": ", json->data[json->len - 1] != '[' ? ", " : "");
		escape_json(json, gj_remote_column(relid, attnum));
		type = getBaseTypeAndTypmod(type, &typmod);
		appendStringInfo(json, ", \"type\": %u, \"typmod\": %d, \"text\": %s}",
						 type, typmod, gj_is_encoded(type) ? "false" : "true");
	}
}
