package e2e

import (
	"context"
	"fmt"

	"gpujoin/tests/synthetic"
	"gpujoin/tests/tpch"
)

// query is what is run in every mode.
type query struct{ name, sql string }

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

// fillJoins makes a dimension and two tables of facts, with as many rows and
// with four times as many, and returns their joins.
func (w *world) fillJoins(ctx context.Context) ([]query, error) {
	tables := []synthetic.Table{synthetic.Dimension("dimension", 1, w.rows)}
	var queries []query
	for _, times := range []int{1, 4} {
		name := fmt.Sprintf("fact%d", times)
		tables = append(tables, synthetic.Table{
			Name: name, Rows: times * w.rows, Columns: []string{"k", "v"},
			Values: []string{synthetic.Foreign(2, w.rows), synthetic.Number(3, 1000)},
		})
		queries = append(queries, query{
			name: fmt.Sprintf("%s x %s", count(times*w.rows), count(w.rows)),
			sql:  sums(name) + " on f.k = d.k",
		})
	}
	native := w.modes[0].session
	for _, t := range tables {
		say("filling %s with %d rows", t.Name, t.Rows)
		if err := t.Fill(ctx, native); err != nil {
			return nil, err
		}
	}
	return queries, native.Exec(ctx, "vacuum (freeze, analyze)")
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
		queries = append(queries, query{fmt.Sprintf("TPC-H %d", n), sql})
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
