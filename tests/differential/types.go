package differential

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// columnType generates values of an SQL type in COPY's text form. Values come
// from small domains, so that joins find partners, and from the domain's edges.
type columnType struct {
	name   string
	family string // types of one family are compared; "": never a key
	value  func(r *rand.Rand) string
}

// kind is the kind of expressions that a column of the type belongs to. "fixed"
// is a numeric with a declared scale and at most 18 digits: equal values look
// the same, and blocks support it. "loose" is one without a declared scale, whose
// values have decimals of their own; equal values look the same within a column.
func (t columnType) kind() string {
	switch {
	case t.name == looseType || t.name == "loose":
		return "loose"
	case t.family == "numeric" && t.name != "numeric" && t.name != "numeric(30,10)":
		return "fixed"
	case t.name == "bool":
		return "bool"
	}
	return t.family
}

// looseType is another name of numeric, so that such columns are told from those
// in which equal values look different.
const looseType = "pg_catalog.numeric"

// pick returns one of the values with equal probability.
func pick(values ...string) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return values[r.IntN(len(values))] }
}

// decimal returns an integer or one with decimals, so that columns of several
// scales find partners.
func decimal(decimals string) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		return fmt.Sprint(r.IntN(40)) + []string{"", decimals}[r.IntN(2)]
	}
}

// often returns a usual value nine times in ten, else an edge.
func often(usual func(*rand.Rand) string, edges ...string) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		if r.IntN(10) > 0 {
			return usual(r)
		}
		return edges[r.IntN(len(edges))]
	}
}

// looseValue returns a decimal whose number of decimals follows from its value.
func looseValue(r *rand.Rand) string {
	n := r.IntN(48) - 8
	return strconv.Itoa(n) + []string{"", ".5", ".25", ".1250", ".00"}[(n+8)%5]
}

func format(pattern string, below int) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprintf(pattern, r.IntN(below)) }
}

var long = strings.Repeat("long text that is stored out of line ", 400)

var columnTypes = []columnType{
	{"int2", "int", often(format("%d", 50), "-32768", "32767", "0")},
	{"int4", "int", often(format("%d", 50), "-2147483648", "2147483647", "32767")},
	{"int8", "int", often(format("%d", 50), "-9223372036854775808", "9223372036854775807", "2147483647")},
	{"oid", "oid", often(format("%d", 50), "0", "4294967295")},
	{"date", "date", often(func(r *rand.Rand) string { return fmt.Sprintf("2020-01-%02d", 1+r.IntN(28)) }, "infinity", "-infinity", "4713-01-01 BC", "5874897-12-31")},
	{"timestamp", "timestamp", often(format("2020-01-01 10:%02d:00.000001", 50), "infinity", "-infinity")},
	{"timestamptz", "timestamptz", often(format("2020-01-01 10:%02d:00+02", 50), "infinity", "-infinity", "2020-01-01 08:05:00+00")},
	{"uuid", "uuid", format("00000000-0000-4000-8000-0000000000%02d", 40)},
	{"text", "text", often(format("name %d", 40), "", " ", "Grüße", "name 1 ", long)},
	{"varchar(60)", "text", often(format("name %d", 40), "", "name 1 ", "Grüße")},
	{`text collate "C"`, "text", often(format("name %d", 40), "", "Name 1", "name 1  ", "ß", "日本")},
	{"text collate nocase", "nocase", often(format("Name %d", 40), "", "NAME 1", "name 1", "é", "É", "e")},
	{"char(12)", "bpchar", often(format("code %d", 40), "", "code 1  ", "ä")},
	{"char(20)", "bpchar", often(format("code %d", 40), "", " code 1", "ä")},
	{"numeric(12,2)", "numeric", often(decimal(".50"), "NaN", "9999999999.99", "-9999999999.99", "0")},
	{"numeric(18,0)", "numeric", often(format("%d", 40), "NaN", "999999999999999999")},
	{"numeric(30,10)", "numeric", often(decimal(".5"), "NaN", "12345678901234567890.0123456789")},
	{"numeric", "numeric", often(decimal(".500"), "NaN", "Infinity", "-Infinity", "1e-30", "123456789012345678901234567890.5", "1.0", "1.00")},
	{looseType, "numeric", looseValue},

	{"int4", "int", format("%d", 1000)},
	{"int8", "int", format("%d", 100000)},
	{"numeric(12,2)", "numeric", format("%d.25", 1000)},
	{"numeric(9,4)", "numeric", format("0.%04d", 10000)},
	{"numeric(18,6)", "numeric", often(format("%d.000125", 40), "999999999999.999999", "-999999999999.999999")},
	{"date", "date", func(r *rand.Rand) string { return fmt.Sprintf("2020-%02d-29", 1+r.IntN(12)) }},

	{"bool", "", pick("t", "f")},
	{"float4", "float", often(format("%d", 40), "0", "-0", "NaN", "Infinity", "1.5", "0.1")},
	{"float8", "float", often(format("%d", 40), "0", "-0", "NaN", "-Infinity", "2.25", "0.1")},
	{"bytea", "bytea", often(format(`\\x%02x`, 40), `\\x`, `\\x00ff`, `\\xdeadbeef`)},
	{"jsonb", "", pick("{}", `{"a": [1, 2, null]}`, "null")},
	{"interval", "interval", often(format("%d hours", 40), "1 mon", "30 days", "720:00:00", "-1 mon 31 days", "1 day", "178000000 years")},
	{"inet", "inet", often(format("10.0.0.%d", 40), "2001:db8::1/64", "2001:db8::1", "10.0.0.1/24", "0.0.0.0/0")},
	{"macaddr", "macaddr", format("08:00:2b:01:02:%02x", 40)},
	{"macaddr8", "macaddr8", format("08:00:2b:01:02:03:04:%02x", 40)},
	{"name", "name", often(format("name %d", 40), "pg_class", "", "name 1 ")},
	{"time", "time", often(format("10:%02d:12.5", 40), "24:00:00", "00:00:00")},
	{"timetz", "timetz", often(format("10:%02d:12+02", 40), "09:05:12+01", "08:05:12+00")},
	{"money", "money", often(format("%d.34", 40), "-1.00")},
	{"point", "", pick("(1,2)")},
	{`"char"`, "char", pick("a", "b", "c", "d", "e", "f", "g", "z")},
	{"bit(11)", "bit", format("00000%06b", 40)},
	{"varbit", "varbit", often(format("%06b", 40), "", "1", "110", "1100")},
	{"int4[]", "", pick("{}", "{1,NULL,3}", "{{1,2},{3,4}}")},
	{"text[]", "", pick("{}", `{a,NULL,"b c"}`)},
	{"int4range", "", pick("empty", "[1,5)")},
	{"mood", "mood", pick("sad", "ok", "happy")},
	{"pair", "", pick("(1,x)", "(,)")},
	{"positive", "", pick("1", "2")},
	{"money_amount", "numeric", often(decimal(".50"), "NaN", "0.00")},
}

// comparable reports whether values of two families can be equal, converted or
// not.
func comparable(a, b string) bool {
	if a > b {
		a, b = b, a
	}
	switch [2]string{a, b} {
	case [2]string{"int", "numeric"}, [2]string{"float", "int"}, [2]string{"name", "text"},
		[2]string{"bpchar", "text"}, [2]string{"date", "timestamp"}:
		return true
	}
	return a == b && a != ""
}

// keyTypes returns the types that can be compared.
func keyTypes() []columnType {
	var keys []columnType
	for _, c := range columnTypes {
		if c.family != "" {
			keys = append(keys, c)
		}
	}
	return keys
}
