package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// option is one of CREATE SERVER, USER MAPPING or FOREIGN TABLE, as the C code lists it.
type option struct{ name, objects, values string }

// options returns those of libpq and those of the package, in their order.
func options(t *testing.T) (libpq, own []option) {
	t.Helper()
	_, table, _ := strings.Cut(read(t, "fdw", "foreign", "option.c"), "static const Option options[] = {")
	table, _, _ = strings.Cut(table, "};")
	before, after, ok := strings.Cut(table, "/* the package's */")
	if !ok {
		t.Fatal("option.c does not divide its options")
	}
	return optionRows(before), optionRows(after)
}

func optionRows(text string) []option {
	kinds := map[string]string{
		"TEXT": "", "NAME": "a name", "SECRET_FILE": "a file", "WHOLE": "0 or more", "BOOLEAN": "`on`, `off`",
		"TIME": "a time", "SIZE": "a size, at least `1MB`", "FRESHNESS": "`latest`, or a time",
	}
	var out []option
	for _, m := range regexp.MustCompile(`\{"(\w+)", ([A-Z |]+), (\w+), (NULL|"[^"]*")\}`).FindAllStringSubmatch(text, -1) {
		objects := strings.ToLower(strings.ReplaceAll(m[2], " | ", ", "))
		values := kinds[m[3]]
		if m[4] != "NULL" {
			values = "`" + strings.ReplaceAll(strings.Trim(m[4], `"`), ", ", "`, `") + "`"
		}
		out = append(out, option{m[1], objects, values})
	}
	return out
}

// What the package's options do. Those of libpq have its documentation.
var optionTexts = map[string]string{
	"password_required":   "`off`: a user who is no superuser needs no password. Only superusers may set it. Default `on`",
	"publication":         "the publication at the source that has the tables. Default `gpujoin`",
	"slot":                "a permanent replication slot; each mapping needs its own. Without it, the slot is temporary",
	"max_retained_wal":    "WAL that the slot may hold back before it is dropped and the mirrors load again. Default `4GB`",
	"freshness":           "how old rows may be. The setting `gpujoin.freshness` overrides it; of several tables in a statement, the freshest counts. Default `latest`",
	"freshness_timeout":   "how long a statement waits for that; default `2s`",
	"mix":                 "`on`: a statement may read some tables from mirrors and others directly, at different positions. Default `off`",
	"mirror":              "`off`: read the table at its source instead of mirroring it. Default `on`",
	"use_remote_estimate": "without a mirror, the planner asks the source for the number of rows. Default `off`",
	"schema_name":         "schema at the source. Default: that of the foreign table",
	"table_name":          "name at the source. Default: that of the foreign table",
	"column_name":         "name at the source. Default: that of the column",
}

// Each option that the C code accepts is explained, and no other.
func TestOptionsAreExplained(t *testing.T) {
	libpq, own := options(t)
	if len(libpq) < 20 || len(own) < 10 {
		t.Fatalf("%d and %d options", len(libpq), len(own))
	}
	for _, o := range own {
		if optionTexts[o.name] == "" {
			t.Errorf("the option %s has no explanation", o.name)
		}
	}
	for name := range optionTexts {
		if !slices.ContainsFunc(own, func(o option) bool { return o.name == name }) {
			t.Errorf("the option %s does not exist", name)
		}
	}
}
