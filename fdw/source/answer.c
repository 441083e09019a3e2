/*
 * source/answer.c - reads the daemon's answers on foreign servers, and raises its errors.
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "source/request.h"
#include "source/source.h"

/* ---- members ---- */

static void
refuse(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("gpujoind sent an answer that is not valid"),
			 errdetail("Its member \"%s\" is missing or has another type.", name)));
}

static JsonbValue *
member(JsonbContainer *object, const char *name, enum jbvType type, bool missing_ok)
{
	JsonbValue *value = NULL;

	if (JsonContainerIsObject(object))
		value = getKeyJsonValueFromContainer(object, name, strlen(name), NULL);
	if (value != NULL && value->type != type)
		value = NULL;
	if (value == NULL && !missing_ok)
		refuse(name);
	return value;
}

char *
gj_answer_text(JsonbContainer *object, const char *name)
{
	JsonbValue *value = member(object, name, jbvString, false);

	return pnstrdup(value->val.string.val, value->val.string.len);
}

double
gj_answer_number(JsonbContainer *object, const char *name)
{
	JsonbValue *value = member(object, name, jbvNumeric, false);

	return DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(value->val.numeric)));
}

int64
gj_answer_count(JsonbContainer *object, const char *name)
{
	JsonbValue *value = member(object, name, jbvNumeric, false);

	return DatumGetInt64(DirectFunctionCall1(numeric_int8, NumericGetDatum(value->val.numeric)));
}

bool
gj_answer_bool(JsonbContainer *object, const char *name)
{
	return member(object, name, jbvBool, false)->val.boolean;
}

JsonbContainer *
gj_answer_array(JsonbContainer *object, const char *name)
{
	JsonbContainer *array = member(object, name, jbvBinary, false)->val.binary.data;

	if (!JsonContainerIsArray(array))
		refuse(name);
	return array;
}

JsonbContainer *
gj_answer_element(JsonbContainer *array, uint32 i)
{
	JsonbValue *value = getIthJsonbValueFromContainer(array, i);

	if (value == NULL || value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
		refuse("[]");
	return value->val.binary.data;
}

/* ---- errors ---- */

/* The member "error", or NULL. */
static JsonbContainer *
error_of(JsonbContainer *answer)
{
	JsonbValue *error = member(answer, "error", jbvBinary, true);

	return error != NULL ? error->val.binary.data : NULL;
}

/* Those of classes that are no errors, and malformed ones, are not taken. */
int
gj_sqlstate_of(const char *sqlstate)
{
	if (strlen(sqlstate) != 5 || strspn(sqlstate, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 5 ||
		(sqlstate[0] == '0' && sqlstate[1] <= '2'))
		return ERRCODE_FDW_ERROR;
	return MAKE_SQLSTATE(sqlstate[0], sqlstate[1], sqlstate[2], sqlstate[3], sqlstate[4]);
}

void
gj_raise_answer(JsonbContainer *answer, Oid serverid)
{
	JsonbContainer *error = error_of(answer);
	const ForeignServer *server;
	const char *message,
			   *detail,
			   *hint,
			   *sqlstate;

	if (error == NULL)
		return;
	sqlstate = gj_answer_text(error, "sqlstate");
	message = gj_answer_text(error, "message");
	detail = gj_answer_text(error, "detail");
	hint = gj_answer_text(error, "hint");
	server = OidIsValid(serverid) ? GetForeignServerExtended(serverid, FSV_MISSING_OK) : NULL;
	ereport(ERROR,
			(errcode(gj_sqlstate_of(sqlstate)),
			 errmsg_internal("%s", message),
			 detail[0] != '\0' ? errdetail_internal("%s", gj_as_sentence(detail)) : 0,
			 hint[0] != '\0' ? errhint("%s", gj_as_sentence(hint)) : 0,
			 server != NULL ? errcontext("foreign server \"%s\"", server->servername) : 0));
}

char *
gj_answer_failure(const Jsonb *answer)
{
	JsonbContainer *error = error_of((JsonbContainer *) &answer->root);
	const char *detail;

	if (error == NULL)
		return NULL;
	detail = gj_answer_text(error, "detail");
	return psprintf("%s%s%s", gj_answer_text(error, "message"), detail[0] != '\0' ? ": " : "", detail);
}

char *
gj_as_sentence(const char *text)
{
	char	   *sentence;

	/* a command begins with a capital letter, and has no full stop */
	if (text[0] < 'a' || text[0] > 'z')
		return pstrdup(text);
	sentence = psprintf("%s.", text);
	sentence[0] = pg_toupper((unsigned char) sentence[0]);
	return sentence;
}
