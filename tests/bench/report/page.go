package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gpujoin/tests/measure"
)

// page is what the texts are made of.
type page struct {
	all              recorded
	fed, kept        *measure.Document // of TPC-H
	joins, keptJoins *measure.Document // on a GPU
	rows             []series
	shares           []share
}

// sharesOf returns the parts of the time of all engines that have them.
func sharesOf(all recorded) (list []share) {
	for _, s := range []struct{ directory, name, engine string }{
		{"tpch-sf1", "%s, tables read", measure.Gpujoin},
		{"tpch-kept-sf1", "%s, kept columns", measure.Gpujoin},
		{"gpu-e2e-sf1", "%s, on its cores", measure.Cores},
		{"gpu-e2e-sf1", "%s, on the GPU", measure.GPU},
		{"gpu-e2e-kept-sf1", "%s, kept, on the GPU", measure.GPU},
	} {
		for _, d := range all.of(s.directory) {
			if share, ok := shareOf(fmt.Sprintf(s.name, d.Machine.ID), d, s.engine); ok {
				list = append(list, share)
				break
			}
		}
	}
	return list
}

// suites are the rows of the table: directories of results, what they are, and what their
// times are compared with.
var suites = []struct{ directory, what, base string }{
	{"tpch-sf1", "TPC-H, tables read for each query", measure.Postgres},
	{"tpch-kept-sf1", "TPC-H, kept columns", measure.Postgres},
	{"tpch-foreign-sf1", "TPC-H, tables of another server", measure.Postgres},
	{"tpcds-sf1", "TPC-DS, tables read for each query", measure.Postgres},
	{"tpcds-kept-sf1", "TPC-DS, kept columns", measure.Postgres},
	{"bench-join", "joins of 10 M rows, tables read", measure.Postgres},
	{"bench-join-kept", "joins of 10 M rows, kept columns", measure.Postgres},
	{"gpu-e2e-sf1", "TPC-H and large joins on a machine with a GPU", measure.Postgres},
	{"gpu-e2e-kept-sf1", "the same, kept columns, by the time on cores", measure.Cores},
}

// columns are the engines of the table, with their heads.
var columns = []struct{ engine, head string }{
	{measure.Gpujoin, "gpujoin"}, {measure.Foreign, "gpujoin, mirrored"}, {measure.Cores, "all offloaded, cores"}, {measure.GPU, "all offloaded, GPU"},
	{measure.PgScanner, "DuckDB on the same tables"}, {measure.DuckDB, "DuckDB, its own copy"},
	{measure.Workers(4), "PostgreSQL, 4 workers"}, {measure.Workers(8), "PostgreSQL, 8 workers"},
}

// markdown returns docs/benchmarks.md.
func (p page) markdown() string {
	var b strings.Builder
	b.WriteString(`# Benchmarks

Generated from the recorded results in [bench/results](../bench/results) by ` + "`make bench-report`" + `, which CI repeats: change the results, not this page.
[benchmarking.md](internals/benchmarking.md) describes the commands that measure, and how to record a result.

## How many times as fast as PostgreSQL
Each figure is the geometric mean, over the queries or joins of a suite that both finished, of PostgreSQL's time by that of the engine. Times are medians, measured by the client,
of runs that take turns. In parentheses: the number of queries. DuckDB's own copy is a file of the same data; "DuckDB on the same tables" reads PostgreSQL's tables for each
query, as pg_duckdb does, by DuckDB's extension postgres_scanner.

`)
	b.WriteString(p.table())
	b.WriteString("\n")
	p.plot(&b, tpchPlot, len(tpchSeries(p.fed, p.kept)) > 0, "TPC-H", "Times of the 22 queries, on a logarithmic scale.", p.fed, p.kept)
	p.plot(&b, rowsPlot, len(p.rows) > 0, "Cores and GPU", "Joins of two tables by their rows. "+strings.Join(crossings(p.rows), " "), p.joins, p.keptJoins)
	p.plot(&b, sharePlot, len(p.shares) > 0, "Where the time goes", "Medians over the queries of TPC-H that the daemon executed. *Feed* is reading the tables' pages or asking for "+
		"kept columns, *join* the daemon's work, *return* reading its rows. Phases that overlap are parts of their sum.")
	b.WriteString("## Machines and settings\n| results | machine | PostgreSQL | settings | load before |\n|---|---|---|---|---|\n")
	for _, d := range p.all {
		if slices.ContainsFunc(suites, func(s struct{ directory, what, base string }) bool { return s.directory == d.Directory() }) {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", d.Directory(), describe(d), d.Software[measure.Postgres], settings(d), load(d))
		}
	}
	if notes := p.notes(); len(notes) > 0 {
		b.WriteString("\n" + strings.Join(notes, "\n") + "\n")
	}
	return b.String()
}

// plot writes a section with a plot, if there is one, and where its results come from.
func (p page) plot(b *strings.Builder, file string, exists bool, title, text string, of ...*measure.Document) {
	if !exists {
		return
	}
	fmt.Fprintf(b, "## %s\n%s", title, strings.TrimSpace(text))
	var seen []string
	for _, d := range of {
		if d != nil && !slices.Contains(seen, describe(d)) {
			seen = append(seen, describe(d))
			fmt.Fprintf(b, "\n%s: %s.", d.Directory(), describe(d))
		}
	}
	fmt.Fprintf(b, "\n\n![%s](images/%s)\n\n", title, file)
}

// table returns the table of geometric means. Columns without a figure are left out.
func (p page) table() string {
	var rows [][]string
	used := make([]bool, len(columns))
	for _, s := range suites {
		for _, d := range p.all.of(s.directory) {
			base := compare(d, s.base, d, s.base)
			if base.count == 0 {
				continue
			}
			row := []string{s.what, d.Machine.ID, fmt.Sprintf("%.1f s (%d)", base.sum, base.count)}
			for i, column := range columns {
				cell := ""
				if c := compare(d, s.base, d, column.engine); c.count > 0 && column.engine != s.base {
					cell = fmt.Sprintf("%.2f", c.mean)
					if c.count != base.count {
						cell += fmt.Sprintf(" (%d)", c.count)
					}
					used[i] = true
				}
				row = append(row, cell)
			}
			rows = append(rows, row)
		}
	}
	head := []string{"suite, scale factor 1", "machine", "sum of the times compared with"}
	for i, column := range columns {
		if used[i] {
			head = append(head, column.head)
		}
	}
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, row := range rows {
		cells := row[:3:3]
		for i, cell := range row[3:] {
			if used[i] {
				cells = append(cells, cell)
			}
		}
		line(cells)
	}
	return b.String()
}

// readme returns the table for README.md.
func (p page) readme() string {
	if p.fed == nil && p.kept == nil {
		return ""
	}
	base := p.fed
	if base == nil {
		base = p.kept
	}
	one := p.fed == nil || p.kept == nil || p.fed.Machine.ID == p.kept.Machine.ID
	var b strings.Builder
	fmt.Fprintf(&b, "| TPC-H, scale factor 1, in memory, %d cores | times as fast (geometric mean) | sum of the queries |\n|---|---|---|\n", base.Machine.Cores)
	row := func(name string, d *measure.Document, engine string) {
		if d == nil {
			return
		}
		if c := compare(d, measure.Postgres, d, engine); c.count > 0 {
			fmt.Fprintf(&b, "| %s | %.1f | %.1f s |\n", name, c.mean, c.sum)
		}
	}
	row(strings.Join(append([]string{"PostgreSQL"}, strings.Fields(base.Software[measure.Postgres])...), " ")+", 2 parallel workers", base, measure.Postgres)
	row("PostgreSQL, 8 parallel workers", base, measure.Workers(8))
	row("DuckDB on PostgreSQL's tables (as pg_duckdb works)", base, measure.PgScanner)
	row("**gpujoin, tables read for each query**", p.fed, measure.Gpujoin)
	row("**gpujoin, kept columns**", p.kept, measure.Gpujoin)
	row("DuckDB on its own copy of the data", base, measure.DuckDB)
	if !one { // kept columns compare with DuckDB on the same machine
		row("the same, on the machine of kept columns", p.kept, measure.DuckDB)
	}
	fmt.Fprintf(&b, "\n![TPC-H, times of 22 queries](docs/images/%s)\n\n", tpchPlot)
	if one {
		fmt.Fprintf(&b, "%s. ", describe(base))
	} else {
		fmt.Fprintf(&b, "Tables read: %s. Kept columns: %s; each figure is by PostgreSQL's time on the same machine. ", describe(p.fed), describe(p.kept))
	}
	b.WriteString("More: [benchmarks.md](docs/benchmarks.md).\n")
	return b.String()
}

// settings are those of the server that decide, as one text.
func settings(d *measure.Document) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(d.Settings)) {
		if slices.Contains([]string{"shared_buffers", "work_mem", "max_parallel_workers_per_gather", "jit"}, name) {
			parts = append(parts, name+" "+d.Settings[name])
		}
	}
	if len(parts) == 0 {
		return "not recorded"
	}
	return strings.Join(parts, ", ")
}

func load(d *measure.Document) string {
	if d.Machine.Load1Before == nil {
		return "not recorded"
	}
	return fmt.Sprintf("%.2f", *d.Machine.Load1Before)
}

// notes are those of the shown documents, each once, behind the names of the documents.
func (p page) notes() (list []string) {
	of := map[string][]string{}
	for _, s := range suites {
		for _, d := range p.all.of(s.directory) {
			if d.Note != "" {
				of[d.Note] = append(of[d.Note], d.Directory()+" of "+d.Machine.ID)
			}
		}
	}
	for _, note := range slices.Sorted(maps.Keys(of)) {
		list = append(list, fmt.Sprintf("- %s: %s.", strings.Join(of[note], ", "), note))
	}
	return list
}
