package e2e

import (
	"context"
	"fmt"

	"gpujoin/tests/synthetic"
	"gpujoin/tests/tpch"
)

// query is what is run in every mode.
type query struct {
	name, sql string
	inputs    int // rows of both tables, of a join that is measured by size; 0: another query
}

// sums returns a query over a join with the dimension, whose condition is appended.
func sums(fact string) string {
	return fmt.Sprintf("select count(*) as n, sum(f.v) as f, sum(d.v) as d from %s f join dimension d", fact)
}

// The queries for faults. In the second one, one row in a thousand has a
// partner, so that all rows are returned together at the join's end.
var (
	manyRows = sums("fact1") + " on f.k = d.k"
	fewRows  = sums("fact1") + " on f.k = d.k and f.v = d.v"
)

// smallest is the number of rows from which on smaller joins are measured, too: they show from
// which size on a GPU pays.
const smallest = 1_000_000

// fillJoins makes a dimension and two tables of facts, with as many rows and
// with four times as many, and returns their joins. If the dimension is large, there are also
// joins of a tenth and of a hundredth of the rows. The last ones return texts.
func (w *world) fillJoins(ctx context.Context) ([]query, error) {
	tables := []synthetic.Table{synthetic.Dimension("dimension", 1, w.rows)}
	var queries []query
	fact := func(name, dimension string, rows, of int) {
		tables = append(tables, synthetic.Table{
			Name: name, Rows: rows, Columns: []string{"k", "v"}, Values: []string{synthetic.Foreign(2, of), synthetic.Number(3, 1000)},
		})
		queries = append(queries, query{
			name:   fmt.Sprintf("%s x %s", count(rows), count(of)),
			sql:    fmt.Sprintf("select count(*) as n, sum(f.v) as f, sum(d.v) as d from %s f join %s d on f.k = d.k", name, dimension),
			inputs: rows + of,
		})
	}
	for _, part := range []int{100, 10} {
		if rows := w.rows / part; w.rows >= smallest {
			dimension := fmt.Sprintf("dimension_%d", part)
			tables = append(tables, synthetic.Dimension(dimension, 1, rows))
			fact(fmt.Sprintf("fact_%d", part), dimension, rows, rows)
		}
	}
	for _, times := range []int{1, 4} {
		fact(fmt.Sprintf("fact%d", times), "dimension", times*w.rows, w.rows)
	}
	native := w.modes[0].session
	for _, t := range tables {
		say("filling %s with %d rows", t.Name, t.Rows)
		if err := t.Fill(ctx, native); err != nil {
			return nil, err
		}
	}
	texts, err := w.fillTexts(ctx)
	if err != nil {
		return nil, err
	}
	return append(queries, texts...), native.Exec(ctx, "vacuum (freeze, analyze)")
}

// fillTexts makes a dimension and facts with texts, a tenth of the rows if these are many, and returns joins
// that return texts of both, and groups by texts.
func (w *world) fillTexts(ctx context.Context) ([]query, error) {
	dimension, fact, rows := "dimension", "fact1", w.rows
	if w.rows >= smallest {
		dimension, fact, rows = "dimension_10", "fact_10", w.rows/10
	}
	say("filling named_dimension and named_fact with %d rows", rows)
	err := w.modes[0].session.Exec(ctx, fmt.Sprintf(`
		create table named_dimension as select k, v, case when v %% 10 > 0 then 'dimension ' || v end as name from %s;
		create table named_fact as select k, v, case when v %% 7 > 0 then 'fact ' || v || ' of ' || k end as note from %s`, dimension, fact))
	if err != nil {
		return nil, fmt.Errorf("filling tables with texts: %w", err)
	}
	const join = "from named_fact f join named_dimension d on f.k = d.k"
	return []query{
		{name: "texts of both sides", sql: "select d.name, f.note, d.v, f.v " + join + " where f.v < 100"},
		{name: "groups by texts", sql: "select d.name, count(*) as n, sum(f.v) as f " + join + " group by d.name"},
	}, nil
}

func (w *world) fillTPCH(ctx context.Context, numbers []int) ([]query, error) {
	err := tpch.Load(ctx, w.env, w.modes[0].session, w.sf, func(what string) { say("TPC-H: %s", what) })
	if err != nil {
		return nil, err
	}
	var queries []query
	for _, n := range numbers {
		sql, err := tpch.Query(n, w.sf)
		if err != nil {
			return nil, err
		}
		queries = append(queries, query{name: fmt.Sprintf("TPC-H %d", n), sql: sql})
	}
	return queries, nil
}

// count formats a number of rows.
func count(rows int) string {
	if rows >= 1_000_000 && rows%1_000_000 == 0 {
		return fmt.Sprintf("%d M", rows/1_000_000)
	}
	return fmt.Sprint(rows)
}
