package encode

// names are the names of the types with an encoder, in pg_catalog.
var names = map[uint32]string{
	16: "bool", 17: "bytea", 18: `"char"`, 19: "name", 20: "int8", 21: "int2", 23: "int4", 25: "text", 26: "oid", 27: "tid", 28: "xid",
	29: "cid", 114: "json", 600: "point", 601: "lseg", 603: "box", 628: "line", 650: "cidr", 700: "float4", 701: "float8", 718: "circle",
	774: "macaddr8", 790: "money", 829: "macaddr", 869: "inet", 1042: "bpchar", 1043: "varchar", 1082: "date", 1083: "time",
	1114: "timestamp", 1184: "timestamptz", 1186: "interval", 1266: "timetz", 1560: "bit", 1562: "varbit", 1700: "numeric", 2950: "uuid",
	3220: "pg_lsn", 5069: "xid8",
}

// SQLName returns the name of a type that has an encoder, as SQL writes it; "": it has none.
func SQLName(oid uint32) string {
	if e, ok := elements[oid]; ok {
		return SQLName(e) + "[]"
	}
	if names[oid] == "" {
		return ""
	}
	return "pg_catalog." + names[oid]
}
