/*
 * foreign/option.c - which options objects of gpujoin_fdw may have, and their values.
 *
 * Their names and rules are those of postgres_fdw where it has them.  Keywords of
 * libpq are those that docs/settings.md lists.
 */
#include "postgres.h"

#include <limits.h>

#include "access/reloptions.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "options.h"

PG_FUNCTION_INFO_V1(gpujoin_fdw_validator);

typedef enum Value
{
	TEXT,						/* the source or the daemon judges it */
	NAME,						/* a text that is not empty */
	SECRET_FILE,				/* the daemon reads it: in mappings for superusers only */
	WHOLE,						/* a whole number, 0 or more */
	BOOLEAN,
	TIME,						/* of a unit, else ms */
	SIZE,						/* of a unit, else MB */
	FRESHNESS
} Value;

/* The objects that have an option. */
#define SERVER	0x1
#define MAPPING 0x2
#define TABLE	0x4
#define COLUMN	0x8

typedef struct Option
{
	const char *name;
	int			objects;
	Value		value;
	const char *values;			/* the possible ones, separated by commas; NULL: any */
} Option;

static const Option options[] = {
	/* libpq's */
	{"host", SERVER, TEXT, NULL},
	{"port", SERVER, TEXT, NULL},
	{"dbname", SERVER, TEXT, NULL},
	{"user", MAPPING, TEXT, NULL},
	{"password", MAPPING, TEXT, NULL},
	{"passfile", SERVER | MAPPING, SECRET_FILE, NULL},
	{"sslmode", SERVER, TEXT, "disable, allow, prefer, require, verify-ca, verify-full"},
	{"sslcert", SERVER | MAPPING, SECRET_FILE, NULL},
	{"sslkey", SERVER | MAPPING, SECRET_FILE, NULL},
	{"sslpassword", MAPPING, TEXT, NULL},
	{"sslrootcert", SERVER | MAPPING, SECRET_FILE, NULL},
	{"sslsni", SERVER, TEXT, "0, 1"},
	{"sslcertmode", SERVER, TEXT, "disable, allow, require"},
	{"sslnegotiation", SERVER, TEXT, "postgres, direct"},
	{"channel_binding", SERVER, TEXT, "disable, prefer, require"},
	{"require_auth", SERVER, TEXT, NULL},
	{"target_session_attrs", SERVER, TEXT, "any, read-write, read-only, primary, standby, prefer-standby"},
	{"min_protocol_version", SERVER, TEXT, NULL},
	{"max_protocol_version", SERVER, TEXT, NULL},
	{"krbsrvname", SERVER, TEXT, NULL},
	{"gssencmode", SERVER, TEXT, NULL},
	{"gssdelegation", SERVER, TEXT, NULL},
	{"application_name", SERVER, TEXT, NULL},
	{"connect_timeout", SERVER, WHOLE, NULL},
	{"keepalives", SERVER, WHOLE, NULL},
	{"keepalives_idle", SERVER, WHOLE, NULL},
	{"keepalives_interval", SERVER, WHOLE, NULL},
	{"keepalives_count", SERVER, WHOLE, NULL},
	{"tcp_user_timeout", SERVER, WHOLE, NULL},

	/* the package's */
	{"password_required", MAPPING, BOOLEAN, NULL},
	{"publication", SERVER, NAME, NULL},
	{"slot", SERVER | MAPPING, NAME, NULL},
	{"max_retained_wal", SERVER, SIZE, NULL},
	{"freshness", SERVER | TABLE, FRESHNESS, NULL},
	{"freshness_timeout", SERVER, TIME, NULL},
	{"mix", SERVER, BOOLEAN, NULL},
	{"mirror", SERVER | TABLE, BOOLEAN, NULL},
	{"use_remote_estimate", SERVER | TABLE, BOOLEAN, NULL},
	{"schema_name", TABLE, NAME, NULL},
	{"table_name", TABLE, NAME, NULL},
	{"column_name", COLUMN, NAME, NULL}
};

static int
object_of(Oid catalog)
{
	switch (catalog)
	{
		case ForeignServerRelationId:
			return SERVER;
		case UserMappingRelationId:
			return MAPPING;
		case ForeignTableRelationId:
			return TABLE;
		case AttributeRelationId:
			return COLUMN;
		default:
			return 0;			/* a foreign data wrapper has none */
	}
}

static const Option *
find(const char *name, int object)
{
	for (Size i = 0; i < lengthof(options); i++)
		if ((options[i].objects & object) != 0 && strcmp(options[i].name, name) == 0)
			return &options[i];
	return NULL;
}

static void
refuse_name(const char *name, int object)
{
	StringInfoData valid;

	initStringInfo(&valid);
	for (Size i = 0; i < lengthof(options); i++)
		if ((options[i].objects & object) != 0)
			appendStringInfo(&valid, "%s%s", valid.len > 0 ? ", " : "", options[i].name);
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
			 errmsg("invalid option \"%s\"", name),
			 valid.len > 0 ? errhint("Valid options in this context are: %s", valid.data) :
			 errhint("There are no valid options in this context.")));
}

static bool
is_one_of(const char *value, const char *list)
{
	Size		length = strlen(value);

	for (const char *p = list; *p != '\0';)
	{
		Size		n = strcspn(p, ",");

		if (n == length && strncmp(p, value, n) == 0)
			return true;
		p += n;
		p += strspn(p, ", ");
	}
	return false;
}

static bool
is_valid(const Option *option, const char *value, const char **hint)
{
	int			n;

	*hint = NULL;
	switch (option->value)
	{
		case WHOLE:
			*hint = "The value is a whole number that is not negative.";
			return parse_int(value, &n, 0, NULL) && n >= 0;
		case TIME:
			if (!parse_int(value, &n, GUC_UNIT_MS, hint) || n < 0)
			{
				if (*hint == NULL)
					*hint = "The value is a time that is not negative.";
				return false;
			}
			return true;
		case SIZE:
			if (!parse_int(value, &n, GUC_UNIT_MB, hint) || n <= 0)
			{
				if (*hint == NULL)
					*hint = "The value is a size of at least 1 MB.";
				return false;
			}
			return true;
		case FRESHNESS:
			*hint = "The value is latest, or a time with its unit.";
			return gj_parse_freshness(value, &n);
		case NAME:
			*hint = "The value must not be empty.";
			return value[0] != '\0';
		default:
			if (option->values == NULL)
				return true;
			*hint = psprintf("Possible values are: %s.", option->values);
			return is_one_of(value, option->values);
	}
}

/* What only superusers may set in the mapping of a user, who may be another one. */
static void
check_privilege(const Option *option, DefElem *def)
{
	if (superuser())
		return;
	if (option->value == SECRET_FILE)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("option \"%s\" of a user mapping is superuser-only", option->name),
				 errhint("User mappings with files may only be created or modified by the superuser.")));
	if (strcmp(option->name, "password_required") == 0 && !defGetBoolean(def))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("password_required=false is superuser-only"),
				 errhint("User mappings with the password_required option set to false may only be created or modified by the superuser.")));
}

Datum
gpujoin_fdw_validator(PG_FUNCTION_ARGS)
{
	int			object = object_of(PG_GETARG_OID(1));
	ListCell   *lc;

	foreach(lc, untransformRelOptions(PG_GETARG_DATUM(0)))
	{
		DefElem    *def = lfirst_node(DefElem, lc);
		const Option *option = find(def->defname, object);
		const char *hint;

		if (option == NULL)
			refuse_name(def->defname, object);
		if (option->value == BOOLEAN)
			(void) defGetBoolean(def);
		else if (!is_valid(option, defGetString(def), &hint))
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					 errmsg("invalid value for option \"%s\": \"%s\"", option->name, defGetString(def)),
					 hint != NULL ? errhint("%s", hint) : 0));
		if (object == MAPPING)
			check_privilege(option, def);
	}
	PG_RETURN_VOID();
}
