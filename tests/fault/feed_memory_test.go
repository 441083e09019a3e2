package fault

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"

	"gpujoin/tests/harness"
)

// shape is a table to feed. Its columns c0, c1, ... have one type; in value, n
// is the row's number, from 1, and i the column's.
type shape struct {
	name    string
	rows    int
	columns int
	kind    string // SQL type of the columns
	value   string // SQL expression
	storage string // of the columns; "": the type's own
}

// Rows of several megabytes in total, from the narrowest to the widest, and
// rows whose width changes unexpectedly.
var feedShapes = []shape{
	{"1 bool", 600000, 1, "bool", "n % 2 = 0", ""},
	{"1 int8", 300000, 1, "int8", "n", ""},
	{"100 int4", 12000, 100, "int4", "n", ""},
	{"1500 bool", 3000, 1500, "bool", "n % 2 = 0", ""},
	{"1500 int4", 1000, 1500, "int4", "n", ""},
	{"1500 int4, most NULL", 1000, 1500, "int4", "case when n % 10 = 0 then n end", ""},
	{"1 text of 1", 300000, 1, "text", "'x'", ""},
	{"1 text of 20, half NULL", 200000, 1, "text", "case when n % 2 = 0 then md5(n::text) end", ""},
	{"1 text of 7 kB", 900, 1, "text", "rpad(n::text, 7000, md5(n::text))", "plain"},
	{"10 text of 300", 2000, 10, "text", "rpad((n + i)::text, 300, md5(n::text))", ""},
	{"250 text of 10", 2000, 250, "text", "rpad((n + i)::text, 10, 'x')", ""},
	{"250 text of 0 to 40", 1500, 250, "text", "rpad('', ((n * 7919 + i * 104729) % 40)::int, 'x')", ""},
	{"250 text, most NULL", 2000, 250, "text", "case when (n + i) % 10 = 0 then md5(n::text) end", ""},
	{"1000 text of 2", 1500, 1000, "text", "'xy'", ""},
	{"1500 text, NULL", 1500, 1500, "text", "null", ""},
	{"documents of 16 kB", 500, 1, "text", "rpad(n::text, 16000, md5(n::text))", "external"},
	{"compressed documents of 16 kB", 500, 1, "text", "rpad(n::text, 16000, 'x')", ""},
	{"values of 64 kB", 120, 1, "text", "rpad(n::text, 65000, 'x')", "external"},
	{"values of 80 kB", 100, 1, "text", "rpad(n::text, 80000, 'x')", "external"},
	{"values of 700 kB", 12, 1, "text", "rpad(n::text, 700000, 'x')", "external"},
	{"values of 3 MB", 3, 1, "text", "rpad(n::text, 3000000, 'x')", "external"},
	{"100 values of 2 kB", 40, 100, "text", "rpad(n::text, 2000, 'x')", "external"},
	{"100 values of 3 kB", 25, 100, "text", "rpad(n::text, 3000, 'x')", "external"},
	{"100 values of 12 kB", 6, 100, "text", "rpad(n::text, 12000, 'x')", "external"},
	{"narrow, then wide", 20000, 4, "text", "rpad('', case when n < 15000 then 5 else 300 end, 'x')", ""},
	{"wide, then narrow", 20000, 4, "text", "rpad('', case when n > 5000 then 5 else 300 end, 'x')", ""},
	{"one wide column after the other", 5000, 20, "text", "rpad('', case when n / 250 = i then 1500 else 5 end, 'x')", ""},
	{"a wide column in turn", 5000, 20, "text", "rpad('', case when n % 20 = i then 1500 else 5 end, 'x')", ""},
	{"one long value in a hundred", 5000, 2, "text", "rpad('', case when n % 100 = 0 then 60000 else 500 end, 'x')", "external"},
	{"mixed around the inline limit", 100, 1, "text", "rpad('', (60000 + n * 80)::int, 'x')", "external"},
}

// define makes the table, in the schema feed. A batch stores nothing for a
// NULL, except perhaps its slot.
func (s shape) define(columns string) string {
	var names, alters, values []string
	for i := range s.columns {
		names = append(names, fmt.Sprintf("c%d %s", i, s.kind))
		values = append(values, strings.NewReplacer(" i)", fmt.Sprintf(" %d)", i), "i *", fmt.Sprintf("%d *", i),
			"= i ", fmt.Sprintf("= %d ", i)).Replace(s.value))
		if s.storage != "" {
			alters = append(alters, fmt.Sprintf("alter c%d set storage %s", i, s.storage))
		}
	}
	sql := "drop table if exists wide; create table wide (k int8, " + strings.Join(names, ", ") + ");"
	if alters != nil {
		sql += "alter table wide " + strings.Join(alters, ", ") + ";"
	}
	return sql + fmt.Sprintf("insert into wide select n, %s from generate_series(1::int8, %d) n; %s",
		strings.Join(values, ", "), s.rows, columns)
}

// bytes returns a query for the bytes of all values in batches; values of
// variable length include a header and an offset.
func (s shape) bytes() string {
	sum := fmt.Sprintf("sum(%d", 8+map[string]int{"bool": 1, "int4": 4, "int8": 8, "text": 4}[s.kind]*s.columns)
	if s.kind == "text" {
		for i := range s.columns {
			sum += fmt.Sprintf(" + coalesce(octet_length(c%d) + 4, 0)", i)
		}
	}
	return "select " + sum + ") from wide"
}

// A feed takes at most half as much again as the bytes it feeds, plus an extent
// for each input and one for long values, whatever the rows are like and
// whether or not statistics exist. go test -v prints the table.
func TestFeedMemory(t *testing.T) {
	w := theWorld(t)
	s := w.proxied(t, serial, "create schema if not exists feed; set search_path = feed, public; "+
		"drop table if exists one; create table one as select 7::int8 as k; analyze one")
	const extent = 1 << 20
	const sql = "select w.* from wide w join one o on w.k = o.k"
	var table strings.Builder
	out := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "shape\tfeed\tstatistics\tbytes\textents\tof chains\textents by bytes\t")
	for _, shape := range feedShapes {
		for _, statistics := range []string{"no", "yes"} {
			exec(t, s, map[string]string{"no": shape.define("") + "alter table wide set (autovacuum_enabled = off)", "yes": "analyze wide"}[statistics])
			var bytes int
			if _, err := fmt.Sscan(query(t, s, shape.bytes()).Rows[0], &bytes); err != nil {
				t.Fatal(err)
			}
			delete(w.Native, sql)
			for _, feed := range []string{"page", "child"} {
				exec(t, s, map[string]string{"page": "set gpujoin.page_row_cost = 0", "child": "set gpujoin.page_row_cost = 1e9"}[feed])
				batches, chains, ran := 0, 0, false
				w.Proxy.Rewrite(func(f *harness.Frame) ([]*harness.Frame, bool) {
					switch f.Type {
					case harness.MsgFilled:
						batches++
					case harness.MsgChainFilled:
						chains++
					case harness.MsgRunning:
						ran = true
					}
					return []*harness.Frame{f}, true
				})
				plan, err := s.Explain(context.Background(), "", sql)
				if err != nil {
					t.Fatal(err)
				}
				if nodes := plan.OffloadJoins(); statistics == "yes" && (len(nodes) != 1 || !nodes[0].FedBy(feed)) {
					t.Errorf("%s: not one join that is fed by %s: %v", shape.name, feed, nodes)
				}
				a := <-ask(s, sql)
				w.Proxy.Rewrite(nil)
				if a.err != nil || len(a.Rows) > 1 || !ran {
					t.Errorf("%s, %s feed: %d rows, run by the daemon: %v, %v", shape.name, feed, len(a.Rows), ran, a.err)
				}
				exec(t, s, native)
				if d := harness.SameRows(query(t, s, sql), a.Result); d != "" {
					t.Errorf("%s, %s feed: %s", shape.name, feed, d)
				}
				exec(t, s, forced)
				fmt.Fprintf(out, "%s\t%s\t%s\t%d\t%d\t%d\t%.2f\t\n", shape.name, feed, statistics, bytes, batches, chains,
					float64((batches+chains)*extent)/float64(bytes))
				if limit := 1.5*float64(bytes)/extent + 3; float64(batches+chains) > limit {
					t.Errorf("%s, %s feed, statistics: %s: %d batches and %d extents of chains for %d bytes, at most %.1f expected",
						shape.name, feed, statistics, batches, chains, bytes, limit)
				}
			}
		}
	}
	_ = out.Flush()
	t.Logf("extents of %d bytes:\n%s", extent, table.String())
	exec(t, s, "drop schema feed cascade")
	w.unharmed(t, s)
}
