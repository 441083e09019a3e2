/*
 * job/columns.c - how values of PostgreSQL types are stored in a batch.
 *
 * Payloads are opaque bytes, so every type with a length of its own is
 * supported: fixed-length types are padded to a width of layout.h, varlena
 * values keep their header.  The exception is numeric with a declared scale:
 * as an integer it is cheaper both to carry and to compare.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "job/job.h"

#define MAX_FIXED_WIDTH 64		/* layout.h: gj_column.width */
#define MAX_DECIMAL_PRECISION 18

/*
 * numeric's typmod: precision in the upper 16 bits, scale in the lower 11,
 * two's complement, all plus VARHDRSZ (utils/adt/numeric.c).
 */
bool
gj_decimal_scale(Oid type, int32 typmod, int *scale)
{
	int			precision;
	int			s;

	if (type != NUMERICOID)
	{
		/* no domain has a manually assigned OID */
		if (type < FirstGenbkiObjectId)
			return false;
		if (getBaseTypeAndTypmod(type, &typmod) != NUMERICOID)
			return false;
	}
	if (typmod < (int32) VARHDRSZ)
		return false;
	typmod -= VARHDRSZ;
	precision = (typmod >> 16) & 0xffff;
	s = ((typmod & 0x7ff) ^ 1024) - 1024;
	if (precision > MAX_DECIMAL_PRECISION || s < 0 || s > precision)
		return false;
	*scale = s;
	return true;
}

bool
gj_describe_payload(Oid type, int32 typmod, GjColumn *column)
{
	HeapTuple	tuple;
	Form_pg_type form;
	char		typtype;
	int			typlen;
	char		typalign;

	if (gj_decimal_scale(type, typmod, &column->scale))
	{
		column->form = GJ_FORM_DECIMAL;
		column->encoding = GJ_ENC_FIXED;
		column->width = 8;
		column->align = 8;
		return true;
	}

	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	form = (Form_pg_type) GETSTRUCT(tuple);
	typtype = form->typtype;
	typlen = form->typlen;
	typalign = form->typalign;
	ReleaseSysCache(tuple);

	/* a row type may contain anything, even types altered later */
	if (type == RECORDOID || typtype == TYPTYPE_COMPOSITE ||
		(typtype == TYPTYPE_DOMAIN && type_is_rowtype(type)))
		return false;

	column->form = GJ_FORM_VALUE;
	column->scale = 0;
	if (typlen == -1)
	{
		column->encoding = GJ_ENC_VARLENA;
		column->width = 0;
		column->align = typalign == TYPALIGN_DOUBLE ? 8 : 4;
		return true;
	}
	if (typlen <= 0 || typlen > MAX_FIXED_WIDTH)
		return false;
	column->encoding = GJ_ENC_FIXED;
	if (typlen == 1 || typlen == 2 || typlen == 4)
		column->width = typlen;
	else
		column->width = TYPEALIGN(8, typlen);
	column->align = Min(column->width, 8);
	return true;
}

/* The types of sidecar/mirror/encode/types.go. */
static bool
is_encoded_scalar(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case BYTEAOID:
		case CHAROID:
		case NAMEOID:
		case INT8OID:
		case INT2OID:
		case INT4OID:
		case TEXTOID:
		case OIDOID:
		case TIDOID:
		case XIDOID:
		case CIDOID:
		case JSONOID:
		case POINTOID:
		case LSEGOID:
		case BOXOID:
		case LINEOID:
		case CIDROID:
		case FLOAT4OID:
		case FLOAT8OID:
		case CIRCLEOID:
		case MACADDR8OID:
		case MONEYOID:
		case MACADDROID:
		case INETOID:
		case BPCHAROID:
		case VARCHAROID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:
		case TIMETZOID:
		case BITOID:
		case VARBITOID:
		case NUMERICOID:
		case UUIDOID:
		case PG_LSNOID:
		case XID8OID:
			return true;
		default:
			return false;
	}
}

bool
gj_is_encoded(Oid type)
{
	Oid			base = getBaseType(type);
	Oid			element;

	if (is_encoded_scalar(base))
		return true;

	/* an array has the number of its element's type, which another server does not know */
	element = get_element_type(base);
	return is_encoded_scalar(element) && get_array_type(element) == base;
}

static void
describe_fixed(GjColumn *column, int width)
{
	column->encoding = GJ_ENC_FIXED;
	column->width = width;
	column->align = 8;
}

void
gj_describe_key(GjForm form, GjColumn *column)
{
	column->form = form;
	column->scale = 0;
	switch (form)
	{
		case GJ_FORM_FLOAT_KEY:
		case GJ_FORM_FLOAT_ORDER:
		case GJ_FORM_DATE_KEY:
		case GJ_FORM_UNSCALED:
			describe_fixed(column, sizeof(int64));
			return;
		case GJ_FORM_SCALE:
			describe_fixed(column, sizeof(int16));
			column->align = sizeof(int16);
			return;
		case GJ_FORM_INTERVAL_KEY:
			describe_fixed(column, sizeof(__int128));
			return;
		default:
			column->encoding = GJ_ENC_VARLENA;
			column->width = 0;
			column->align = 4;
	}
}

bool
gj_is_key_form(GjForm form)
{
	switch (form)
	{
		case GJ_FORM_NUMERIC_KEY:
		case GJ_FORM_BPCHAR_KEY:
		case GJ_FORM_NAME_KEY:
		case GJ_FORM_FLOAT_KEY:
		case GJ_FORM_FLOAT_ORDER:
		case GJ_FORM_DATE_KEY:
		case GJ_FORM_INTERVAL_KEY:
		case GJ_FORM_UNSCALED:
		case GJ_FORM_SCALE:
			return true;
		case GJ_FORM_VALUE:
		case GJ_FORM_DECIMAL:
		case GJ_FORM_INTEGER:
			break;
	}
	return false;
}

int64
gj_column_bytes(const GjColumn *column)
{
	if (column->encoding == GJ_ENC_FIXED)
		return column->width;
	return (int64) sizeof(uint32) +
		(int64) TYPEALIGN(column->align, Max(column->avg_width, 1));
}

double
gj_column_weight(const GjColumn *column)
{
	switch (column->form)
	{
		case GJ_FORM_DECIMAL:
		case GJ_FORM_UNSCALED:
			return 4;
		case GJ_FORM_NUMERIC_KEY:
		case GJ_FORM_BPCHAR_KEY:
		case GJ_FORM_NAME_KEY:
			return 6;
		case GJ_FORM_FLOAT_KEY:
		case GJ_FORM_FLOAT_ORDER:
		case GJ_FORM_DATE_KEY:
		case GJ_FORM_INTERVAL_KEY:
		case GJ_FORM_SCALE:
			return 2;
		case GJ_FORM_INTEGER:
		case GJ_FORM_VALUE:
			break;
	}
	if (column->encoding == GJ_ENC_VARLENA)
		return 3 + column->avg_width / 32.0;
	return Max(1, column->width / 8);
}
