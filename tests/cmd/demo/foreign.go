package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
	"gpujoin/tests/measure"
	"gpujoin/tests/tpch"
)

const (
	foreignScale = 0.2
	lagTime      = 5 * time.Second
	lagRate      = 2000 // changes per second
)

// queriesOfForeign are shown by name.
var queriesOfForeign = []struct{ name, sql string }{
	{"sums of a join", sums},
	{"revenue by year and nation", `select n_name, extract(year from o_orderdate) as year, count(*), sum(l_extendedprice * (1 - l_discount))
from nation join customer on n_nationkey = c_nationkey join orders on c_custkey = o_custkey join lineitem on o_orderkey = l_orderkey
group by 1, 2 order by 1, 2`},
	{"best customers", `select c_name, count(*), sum(o_totalprice) from customer join orders on c_custkey = o_custkey
where o_orderdate >= date '1996-01-01' group by c_name order by 3 desc, 1 limit 10`},
}

// runForeign shows tables of another server as foreign tables: how fast they load, how far
// they are behind, and that queries of them return what the source itself returns.
func runForeign(ctx context.Context) (err error) {
	say("starting a source with TPC-H at scale factor %g, a local server and the daemon", foreignScale)
	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	w, err := foreign.Start(env, foreign.Options{Source: harness.Settings{"shared_buffers": "1GB", "work_mem": "128MB", "jit": "off"}, Local: harness.Settings{"jit": "off"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	source, err := w.Source.Connect(ctx)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := tpch.Load(ctx, env, source, foreignScale, func(what string) { say("  %s", what) }); err != nil {
		return err
	}
	local, err := w.Local.Connect(ctx)
	if err != nil {
		return err
	}
	defer local.Close()
	if err := mirrorAll(ctx, w, local); err != nil {
		return err
	}
	fmt.Println()
	say("writing %d changes per second at the source for %.0f s", lagRate, lagTime.Seconds())
	lag, err := w.MeasureLag(ctx, local, "shop", lagRate, lagTime)
	if err != nil {
		return err
	}
	say("%.0f changes/s were visible here after %.1f ms (median), %.1f ms (99 %%)", lag.Changes, lag.P50, lag.P99)
	return compareForeign(ctx, source, local)
}

// mirrorAll imports the source's tables and mirrors them, by statements that it shows.
func mirrorAll(ctx context.Context, w *foreign.World, local *harness.Session) error {
	fmt.Println("\n-- at the local server")
	statements := []string{
		"create extension gpujoin",
		foreign.ServerSQL("shop", w.Keywords(), map[string]string{"user": "postgres"}),
		foreign.ImportSQL("shop", tpch.Tables...),
	}
	for _, sql := range statements {
		for _, s := range strings.Split(sql, "; ") {
			fmt.Printf("  %s;\n", s)
		}
		if err := local.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	var tables []string
	for _, t := range tpch.Tables {
		tables = append(tables, "shop."+t)
	}
	fmt.Printf("  select gpujoin.mirror('shop.lineitem', wait => true);  -- and all others\n\n")
	began := time.Now()
	if err := foreign.Mirror(ctx, local, tables...); err != nil {
		return err
	}
	took := time.Since(began)
	r, err := local.Query(ctx, "select sum(rows), pg_size_pretty(sum(bytes)) from gpujoin.mirrors")
	if err != nil {
		return err
	}
	var rows float64
	count, size, _ := strings.Cut(r.Rows[0], "\t")
	if _, err := fmt.Sscan(count, &rows); err != nil {
		return err
	}
	say("%s rows (%s) were loaded in %.1f s: %.0f rows/s", count, size, took.Seconds(), rows/took.Seconds())
	return local.Exec(ctx, "set search_path = shop, public; analyze "+strings.Join(tables, ", "))
}

// compareForeign runs queries at the source and here.
func compareForeign(ctx context.Context, source, local *harness.Session) error {
	plan, err := local.Query(ctx, "explain (analyze, costs off, timing off) "+queriesOfForeign[2].sql)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s;\n\n", queriesOfForeign[2].sql)
	for _, line := range plan.Rows {
		fmt.Println("  " + line)
	}
	fmt.Println()
	table := []string{"query\tsource ms\there ms\tratio\trows\tsame rows"}
	different := false
	for _, q := range queriesOfForeign {
		var times [2][]float64
		var results [2]*harness.Result
		for range runs {
			for i, s := range []*harness.Session{source, local} {
				began := time.Now()
				r, err := s.Query(ctx, q.sql)
				if err != nil {
					return fmt.Errorf("%s: %w", q.name, err)
				}
				times[i], results[i] = append(times[i], measure.Ms(time.Since(began))), r
			}
		}
		same := harness.SameRows(results[0], results[1]) == ""
		different = different || !same
		there, here := measure.Median(times[0]), measure.Median(times[1])
		table = append(table, fmt.Sprintf("%s\t%.1f\t%.1f\t%.2f\t%d\t%v", q.name, there, here, there/here, len(results[1].Rows), same))
	}
	if err := measure.Table(os.Stdout, table...); err != nil {
		return err
	}
	if different {
		return errors.New("foreign tables returned other rows than the source")
	}
	return nil
}
