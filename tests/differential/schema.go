package differential

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Generator draws tables, settings and queries from a seed.
type Generator struct {
	*rand.Rand
	Tables   []Table
	withs    int        // common table expressions so far
	prepared *statement // nil unless the query is a prepared statement
}

// Table is a table of the schema, or what a subquery delivers.
type Table struct {
	Name     string
	Rows     int          // of a subquery: roughly
	Columns  []columnType // of name c0, c1 ...
	numbered bool         // has a column id, which differs in each row
	keyed    bool         // and is the primary key
}

// The numbers of rows of tables: usual ones, some of them more than a batch, and
// few or none.
var (
	tableSizes = []int{33, 500, 500, 500, 3000, 3000, 3000, 3000, 20000, 20000, 20000, 50000}
	smallSizes = []int{0, 1, 2}
)

// New returns the generator of a seed.
func New(seed uint64) *Generator {
	return &Generator{Rand: rand.New(rand.NewPCG(seed, 0))}
}

// one returns one of the values.
func one[T any](g *Generator, values ...T) T { return values[g.IntN(len(values))] }

// Schema draws n tables and returns the statements that create them. Each begins
// with a column of each key type, in a random order. Without ICU, the collation
// nocase is another name of "C".
func (g *Generator) Schema(n int, icu bool) string {
	nocase := "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
	if !icu {
		nocase = `from "C"`
	}
	sql := `drop schema if exists gen cascade; create schema gen; set search_path = gen, public;
		create type mood as enum ('sad', 'ok', 'happy'); create type pair as (a int, b text);
		create domain positive as int check (value > 0); create domain money_amount as numeric(10,2);
		create collation nocase ` + nocase + ";"
	for i := range n {
		t := Table{Name: fmt.Sprintf("t%d", i), Rows: one(g, tableSizes...), numbered: true}
		if g.IntN(10) == 0 {
			t.Rows = one(g, smallSizes...)
		}
		t.Columns = keyTypes()
		for range 4 {
			t.Columns = append(t.Columns, one(g, columnTypes...))
		}
		g.Shuffle(len(t.Columns), func(a, b int) { t.Columns[a], t.Columns[b] = t.Columns[b], t.Columns[a] })
		var columns []string
		for c, typ := range t.Columns {
			columns = append(columns, fmt.Sprintf("c%d %s", c, typ.name))
		}
		sql += fmt.Sprintf("create table %s (", t.Name)
		switch g.IntN(6) {
		case 0, 1:
			t.keyed = true
			sql += fmt.Sprintf("id int primary key, %s);", strings.Join(columns, ", "))
		case 2:
			sql += fmt.Sprintf("id int, %s) partition by hash (id);", strings.Join(columns, ", "))
			for p := range 3 {
				sql += fmt.Sprintf("create table %s_%d partition of %s for values with (modulus 3, remainder %d);", t.Name, p, t.Name, p)
			}
		default:
			sql += fmt.Sprintf("id int, %s);", strings.Join(columns, ", "))
		}
		g.Tables = append(g.Tables, t)
	}
	return sql
}

// Data returns a table's content in COPY's text format. A column has no, few or
// many NULLs, and rarely nothing else.
func (g *Generator) Data(t Table) string {
	nulls := make([]int, len(t.Columns))
	for i := range nulls {
		nulls[i] = one(g, 0, 0, 0, 5, 5, 20, 50)
		if g.IntN(50) == 0 {
			nulls[i] = 100
		}
	}
	var b strings.Builder
	for row := range t.Rows {
		fmt.Fprintf(&b, "%d", row)
		for c, typ := range t.Columns {
			b.WriteByte('\t')
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

// Settings draws settings for a query.
func (g *Generator) Settings() []string {
	s := []string{
		fmt.Sprintf("max_parallel_workers_per_gather = %d", g.IntN(5)),
		"parallel_leader_participation = " + one(g, "on", "on", "off"),
		"gpujoin.enable_aggregates = on",
	}
	if g.IntN(12) == 0 {
		s[2] = "gpujoin.enable_aggregates = off"
	}
	if g.IntN(4) > 0 {
		s = append(s, "gpujoin.float_aggregates = on")
	}
	if g.IntN(3) == 0 {
		s = append(s, "gpujoin.page_row_cost = 1e6") // child feeds
	}
	if g.IntN(4) == 0 {
		s = append(s, "gpujoin.algorithm = '"+one(g, "phj-om", "phj-um", "smj-om", "smj-um", "npj")+"'")
	}
	if g.IntN(6) == 0 {
		s = append(s, one(g, "enable_hashagg", "enable_sort", "enable_hashjoin", "enable_indexscan")+" = off")
	}
	if g.IntN(6) == 0 {
		s = append(s, "enable_partitionwise_join = on", "enable_partitionwise_aggregate = on")
	}
	return s
}
