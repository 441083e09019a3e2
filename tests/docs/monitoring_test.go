package docs

import (
	"slices"
	"strings"
	"testing"
)

// statistics.md explains every column of the statistics views, in their order, and no other.
func TestStatisticsColumns(t *testing.T) {
	sql, page := read(t, "sql", "gpujoin.sql"), read(t, "docs", "statistics.md")
	for _, view := range []string{"stat_daemon", "stat_jobs", "stat_progress_job"} {
		_, columns, _ := strings.Cut(sql, "CREATE VIEW "+view+"(")
		columns, _, _ = strings.Cut(columns, ")")
		_, table, _ := strings.Cut(page, "\n`gpujoin."+view+"` has ")
		_, table, _ = strings.Cut(table, "|---|---|\n")
		table, _, _ = strings.Cut(table, "\n\n")
		code, documented := all(`(\w+)`, columns), all("(?m)^\\| `(\\w+)` \\|", table)
		if len(code) < 5 || !slices.Equal(code, documented) {
			t.Errorf("%s: %v\nstatistics.md: %v", view, code, documented)
		}
	}
}

// It also explains those of stat_statements, which a function names, and each reason.
func TestStatementColumns(t *testing.T) {
	_, columns, _ := strings.Cut(read(t, "sql", "gpujoin.sql"), "CREATE FUNCTION stat_statements(")
	columns, _, _ = strings.Cut(columns, "RETURNS")
	_, table, _ := strings.Cut(read(t, "docs", "statistics.md"), "## Statistics of queries")
	_, table, _ = strings.Cut(table, "|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	code, documented := all(`OUT (\w+) `, columns), all("(?m)^\\| `(\\w+)` \\|", table)
	if len(code) < 10 || !slices.Equal(code, documented) {
		t.Errorf("%v\nstatistics.md: %v", code, documented)
	}
	reasons := all(`\[GJ_WHY_\w+\] = "(\w+)"`, read(t, "fdw", "stats", "statements.c"))
	for _, reason := range reasons {
		if !strings.Contains(table, "`"+reason+"`: ") {
			t.Errorf("statistics.md does not explain the reason %s", reason)
		}
	}
	if len(reasons) != 4 {
		t.Errorf("%v", reasons)
	}
}

// monitoring.md explains every wait event, and no other.
func TestWaitEventNames(t *testing.T) {
	code := all(`\[GJ_EVENT_\w+\] = "(\w+)"`, read(t, "fdw", "daemon", "wait_event.c"))
	_, section, _ := strings.Cut(read(t, "docs", "monitoring.md"), "## Wait events")
	documented := all("(?m)^\\| `(\\w+)` \\|", section)
	if len(code) < 5 || !slices.Equal(code, documented) {
		t.Errorf("wait_event.c: %v\nmonitoring.md: %v", code, documented)
	}
}
