package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// views.md explains every column of every view, in their order, and no other.
func TestViewColumns(t *testing.T) {
	sql, page := read(t, "sql", "gpujoin.sql"), read(t, "docs", "views.md")
	seen := 0
	for _, m := range regexp.MustCompile(`(?m)^CREATE VIEW (\w+)(?:\(([^)]*)\))? AS`).FindAllStringSubmatchIndex(sql, -1) {
		name := sql[m[2]:m[3]]
		var code []string
		switch {
		case m[4] >= 0:
			code = all(`(\w+)`, sql[m[4]:m[5]])
		case name == "stat_statements":
			code = outColumns(sql, name)
		case name == "stat_statements_info" || name == "stat_devices": // in the text
			continue
		default: // of a record in the daemon's JSON
			_, record, _ := strings.Cut(sql[m[1]:], "jsonb_to_recordset(")
			_, record, _ = strings.Cut(record, "(\n")
			record, _, _ = strings.Cut(record, ");")
			code = all(`(\w+)"? (?:text|integer|bigint|double|pg_catalog\.jsonb)`, record)
		}
		seen++
		compareColumns(t, page, "`gpujoin."+name+"`", code)
	}
	if seen < 12 {
		t.Errorf("found only %d views", seen)
	}
	compareColumns(t, page, "`gpujoin.status()`", outColumns(sql, "status"))
}

// outColumns returns the columns of a function's result.
func outColumns(sql, function string) []string {
	_, columns, _ := strings.Cut(sql, "CREATE FUNCTION "+function+"(")
	columns, _, _ = strings.Cut(columns, "RETURNS")
	return all(`OUT (\w+) `, columns)
}

// compareColumns compares a list with the first column of the first table below a heading. A
// row may have several of them.
func compareColumns(t *testing.T, page, heading string, code []string) {
	t.Helper()
	documented := firstCells(page, "### "+heading+"\n")
	if len(code) < 3 || !slices.Equal(code, documented) {
		t.Errorf("%s\ncode: %v\npage: %v", heading, code, documented)
	}
}

// firstCells returns the names in the first column of the first table below a heading.
func firstCells(page, heading string) []string {
	_, section, _ := strings.Cut(page, "\n"+heading)
	_, table, _ := strings.Cut(section, "|---|")
	table, _, _ = strings.Cut(table, "\n\n")
	var names []string
	for _, cell := range all(`(?m)^\| ([^|]+) \|`, table) {
		names = append(names, all("`([^`]+)`", cell)...)
	}
	return names
}

// views.md explains each reason for which a query is counted as not offloaded.
func TestReasonsOfStatements(t *testing.T) {
	page := read(t, "docs", "views.md")
	reasons := all(`\[GJ_WHY_\w+\] = "(\w+)"`, read(t, "fdw", "stats", "statements.c"))
	for _, reason := range reasons {
		if !strings.Contains(page, "`"+reason+"`: ") {
			t.Errorf("views.md does not explain the reason %s", reason)
		}
	}
	if len(reasons) != 4 {
		t.Errorf("%v", reasons)
	}
}

// views.md names every function that users may call, and every view.
func TestObjectsAreNamed(t *testing.T) {
	sql, page := read(t, "sql", "gpujoin.sql"), read(t, "docs", "views.md")
	names := append(all(`(?m)^CREATE VIEW (\w+)`, sql), all(`(?m)^COMMENT ON FUNCTION (\w+)\(`, sql)...)
	for _, name := range names {
		if !strings.Contains(page, "gpujoin."+name) && !slices.Contains(internalFunctions, name) {
			t.Errorf("views.md does not name %s", name)
		}
	}
	if len(names) < 20 {
		t.Errorf("found only %v", names)
	}
}

// Functions behind views, and those of the foreign data wrapper.
var internalFunctions = []string{"daemon_mirrors", "stat_report", "gpujoin_fdw_handler", "gpujoin_fdw_validator"}
