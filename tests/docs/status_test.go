package docs

import (
	"slices"
	"strings"
	"testing"
)

// daemon.md has every column of gpujoin.status() and of the views, in their
// order, and every reason that the daemon counts.
func TestStatusColumns(t *testing.T) {
	sql := read(t, "sql", "gpujoin.sql")
	_, status, _ := strings.Cut(sql, "CREATE FUNCTION status(")
	status, _, _ = strings.Cut(status, "RETURNS")
	_, jobs, _ := strings.Cut(sql, "CREATE VIEW jobs(")
	jobs, _, _ = strings.Cut(jobs, ")")
	_, devices, _ := strings.Cut(sql, "CREATE VIEW devices")
	_, devices, _ = strings.Cut(devices, "AS d(")
	devices, _, _ = strings.Cut(devices, ");")
	_, links, _ := strings.Cut(sql, "CREATE VIEW links")
	_, links, _ = strings.Cut(links, "AS l(")
	links, _, _ = strings.Cut(links, ");")
	_, memory, _ := strings.Cut(sql, "CREATE VIEW memory")
	_, memory, _ = strings.Cut(memory, "AS m(")
	memory, _, _ = strings.Cut(memory, ");")
	_, kept, _ := strings.Cut(sql, "CREATE VIEW kept(")
	kept, _, _ = strings.Cut(kept, ")")
	_, progress, _ := strings.Cut(sql, "CREATE VIEW keep_progress(")
	progress, _, _ = strings.Cut(progress, ")")
	_, section, ok := strings.Cut(read(t, "docs", "daemon.md"), "## Status")
	if !ok {
		t.Fatal("daemon.md has no section on status")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	_, names, _ := strings.Cut(read(t, "shm", "bodies.go"), "failureNames = [...]string{")
	names, _, _ = strings.Cut(names, "}")
	tables := strings.Split(section, "|---|---|\n")
	if len(tables) != 10 {
		t.Fatalf("the section has %d tables, not 9", len(tables)-1)
	}
	for i, table := range []struct {
		name string
		code []string
	}{
		{"gpujoin.status()", all(`OUT (\w+) `, status)},
		{"reasons", all(`"(\w+)"`, names)},
		{"gpujoin.jobs", all(`(\w+)`, jobs)},
		{"gpujoin.devices", all(`(\w+) (?:text|integer|bigint)`, devices)},
		{"gpujoin.links", all(`(\w+) (?:text|integer|double)`, links)},
		{"gpujoin.memory", all(`(\w+)"? (?:text|bigint)`, memory)},
		{"of memory", nil}, // its accounts
		{"gpujoin.kept", all(`(\w+)`, kept)},
		{"gpujoin.keep_progress", all(`(\w+)`, progress)},
	} {
		if table.code == nil {
			continue
		}
		rows, _, _ := strings.Cut(tables[i+1], "\n\n")
		documented := all("(?m)^\\| `(\\w+)` \\|", rows)
		if table.name == "reasons" {
			slices.Sort(documented)
			slices.Sort(table.code)
		}
		if len(table.code) < 4 || !slices.Equal(table.code, documented) {
			t.Errorf("%s: %v\ndaemon.md: %v", table.name, table.code, documented)
		}
	}
}
