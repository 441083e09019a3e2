package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
)

// generator makes tables and joins from a seed.
type generator struct {
	*rand.Rand
	tables []genTable
}

type genTable struct {
	name    string
	rows    int
	columns []columnType // of name c0, c1 ...
}

// The numbers of rows of tables: none, few, and more than a batch.
var tableSizes = []int{0, 1, 2, 33, 500, 3000, 3000, 20000}

// schema draws tables. Each begins with a column of each key type, in a random order.
func (g *generator) schema(n int) string {
	sql := `drop schema if exists gen cascade; create schema gen; set search_path = gen, public;
		create type mood as enum ('sad', 'ok', 'happy'); create type pair as (a int, b text);
		create domain positive as int check (value > 0);`
	for i := range n {
		t := genTable{name: fmt.Sprintf("t%d", i), rows: tableSizes[g.IntN(len(tableSizes))]}
		t.columns = keyTypes()
		for range 4 {
			t.columns = append(t.columns, columnTypes[g.IntN(len(columnTypes))])
		}
		g.Shuffle(len(t.columns), func(a, b int) { t.columns[a], t.columns[b] = t.columns[b], t.columns[a] })
		var columns []string
		for c, typ := range t.columns {
			columns = append(columns, fmt.Sprintf("c%d %s", c, typ.name))
		}
		sql += fmt.Sprintf("create table %s (%s);", t.name, strings.Join(columns, ", "))
		g.tables = append(g.tables, t)
	}
	return sql
}

// data returns a table's content in COPY's text format. A column has no, few or
// many NULLs.
func (g *generator) data(t genTable) string {
	nulls := make([]int, len(t.columns))
	for i := range nulls {
		nulls[i] = []int{0, 0, 5, 50}[g.IntN(4)]
	}
	var b strings.Builder
	for range t.rows {
		for c, typ := range t.columns {
			if c > 0 {
				b.WriteByte('\t')
			}
			if g.IntN(100) < nulls[c] {
				b.WriteString(`\N`)
			} else {
				b.WriteString(typ.value(g.Rand))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// query draws a join of two to four tables, each joined to an earlier one by
// one or two keys. Results stay small enough to be compared.
func (g *generator) query() string {
	n := 2 + g.IntN(3)
	var tables []genTable
	from, where := "", []string{}
	size := 1.0
	for i := range n {
		t := g.tables[g.IntN(len(g.tables))]
		if i == 0 {
			from = t.name + " r0"
			size = float64(t.rows)
		} else {
			j := g.IntN(i)
			condition := g.equality(tables[j], j, t, i)
			// A key has about 40 values: adds a second key if many rows would match.
			if size *= float64(t.rows) / 40; size > 50000 {
				condition += " and " + g.equality(tables[j], j, t, i)
				size /= 30
			}
			from += fmt.Sprintf(" join %s r%d on %s", t.name, i, condition)
		}
		if i > 0 && g.IntN(4) == 0 {
			where = append(where, g.residual(tables, t, i))
		}
		tables = append(tables, t)
		if g.IntN(3) == 0 {
			where = append(where, g.condition(t, i))
		}
	}
	if size > 200000 {
		// Restricts results that are too large to a few numbered rows.
		where = append(where, "r0.ctid < '(3,0)'")
	}
	sql := "select " + g.outputs(tables) + " from " + from
	if len(where) > 0 {
		sql += " where " + strings.Join(where, " and ")
	}
	return sql
}

// equality compares a column of each table, of one family.
func (g *generator) equality(a genTable, i int, b genTable, j int) string {
	for {
		x, y := g.IntN(len(a.columns)), g.IntN(len(b.columns))
		if f := a.columns[x].family; f != "" && f == b.columns[y].family {
			return fmt.Sprintf("r%d.c%d = r%d.c%d", i, x, j, y)
		}
	}
}

// residual compares columns of two tables by a condition that is no key.
func (g *generator) residual(before []genTable, t genTable, i int) string {
	j := g.IntN(i)
	column := func(t genTable, i int) string {
		return fmt.Sprintf("r%d.c%d::text", i, g.IntN(len(t.columns)))
	}
	return column(before[j], j) + []string{" < ", " is distinct from "}[g.IntN(2)] + column(t, i)
}

// condition restricts a table by conditions that a page feed evaluates and others.
func (g *generator) condition(t genTable, i int) string {
	c := g.IntN(len(t.columns))
	column := fmt.Sprintf("r%d.c%d", i, c)
	if family := t.columns[c].family; family == "int" || family == "numeric" {
		return fmt.Sprintf("%s %s %d", column, []string{"<", "<=", ">", ">=", "<>", "="}[g.IntN(6)], g.IntN(40))
	}
	return column + []string{" is not null", " is null", "::text > 'm'"}[g.IntN(3)]
}

func (g *generator) outputs(tables []genTable) string {
	if g.IntN(6) == 0 {
		return "count(*)"
	}
	var columns []string
	for range 1 + g.IntN(6) {
		i := g.IntN(len(tables))
		columns = append(columns, fmt.Sprintf("r%d.c%d", i, g.IntN(len(tables[i].columns))))
	}
	return strings.Join(columns, ", ")
}

// options draws settings for the query.
func (g *generator) options() string {
	leader := []string{"on", "off"}[g.IntN(2)]
	feed := []string{"reset gpujoin.page_row_cost", "set gpujoin.page_row_cost = 1e6"}[g.IntN(2)]
	return fmt.Sprintf("set max_parallel_workers_per_gather = %d; set parallel_leader_participation = %s; %s",
		g.IntN(5), leader, feed)
}

// The same random joins, natively and forced into the daemon, return the same
// rows: every type of key and payload, NULLs, empty tables, both feeds, 0 to 4
// workers, with the leader taking part or not. GPUJOIN_SEED and
// GPUJOIN_QUERIES choose others.
func TestDifferential(t *testing.T) { differential(t, (*generator).query, "") }

// The same for joins of all kinds, with conditions of every sort. Of some of
// them PostgreSQL expects so few rows that its nested loops take minutes.
func TestDifferentialKinds(t *testing.T) {
	differential(t, (*generator).kindsQuery, "set enable_nestloop = off")
}

func differential(t *testing.T, draw func(*generator) string, setting string) {
	w := theWorld(t)
	seeds, queries := []uint64{1, 2, 3}, 60
	if text := os.Getenv("GPUJOIN_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = []uint64{seed}
	}
	if text := os.Getenv("GPUJOIN_QUERIES"); text != "" {
		var err error
		if queries, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { differ(t, w, seed, queries, draw, setting) })
	}
	w.unharmed(t, nil)
}

func differ(t *testing.T, w *world, seed uint64, queries int, draw func(*generator) string, setting string) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	s := w.session(t)
	exec(t, s, g.schema(5))
	for _, table := range g.tables {
		_, err := s.Conn().CopyFrom(context.Background(), strings.NewReader(g.data(table)), "copy "+table.name+" from stdin")
		if err != nil {
			t.Fatalf("%s: %v", table.name, err)
		}
	}
	exec(t, s, "analyze; "+setting)
	before := sqltest.ReportOf(t, s).Totals.Joins
	planned, rows := 0, 0
	for range queries {
		sql, options := draw(g), g.options()
		// A native nested loop may restart workers for each of its rows.
		exec(t, s, native+"set max_parallel_workers_per_gather = 0")
		want := query(t, s, sql)
		exec(t, s, forced+options)
		rows += len(want.Rows)
		nodes := len(explain(t, s, "", sql).GpuJoins())
		planned += nodes
		if d := harness.SameRows(want, query(t, s, sql)); d != "" {
			t.Errorf("seed %d: %s; %s: %s", seed, options, sql, d)
		}
	}
	executed := sqltest.ReportOf(t, s).Totals.Joins - before
	t.Logf("%d queries, %d rows, %d GpuJoins planned, %d jobs executed", queries, rows, planned, executed)
	if planned < queries*3/4 || executed < int64(planned)/2 {
		t.Errorf("of %d queries only %d GpuJoins were planned and %d jobs executed", queries, planned, executed)
	}
}
