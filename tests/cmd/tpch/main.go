// Command tpch runs TPC-H queries natively, forced into the daemon, and by the
// planner's own choice, compares the full results, and writes the measurements
// to build/tpch.json. For comparison it times DuckDB on the same data.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"gpujoin/tests/harness"
	"gpujoin/tests/suite"
	"gpujoin/tests/tpch"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "tpch:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	sf := flag.Float64("sf", 1, "scale factor")
	chosen := flag.String("queries", "", "numbers of the queries; none: all 22")
	runs := flag.Int("runs", 3, "runs of each query in each mode; the median counts")
	flag.Parse()
	numbers, err := suite.Numbers(*chosen, tpch.Queries)
	if err != nil {
		return err
	}
	var queries []suite.Query
	for _, n := range numbers {
		sql, err := tpch.Query(n, *sf)
		if err != nil {
			return err
		}
		queries = append(queries, suite.Query{Number: n, SQL: sql})
	}

	fmt.Printf("TPC-H at scale factor %g, medians of %d runs\n", *sf, *runs)
	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	duckDB, err := timeDuckDB(ctx, env, queries, *sf, *runs)
	if err != nil {
		return err
	}
	return suite.Run(ctx, env, suite.Program{
		Queries: queries,
		DuckDB:  duckDB,
		Options: suite.Options{Runs: *runs},
		Load: func(s *harness.Session) error {
			return tpch.Load(ctx, env, s, *sf, progress)
		},
		JSON: filepath.Join(env.Root, "build", "tpch.json"),
	})
}

func progress(what string) { fmt.Println("  " + what) }

// timeDuckDB returns DuckDB's times of the queries.
func timeDuckDB(ctx context.Context, env *harness.Env, queries []suite.Query, sf float64, runs int) (suite.Times, error) {
	dir, err := os.MkdirTemp(env.Work, "duckdb")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	progress("generating for DuckDB")
	if err := tpch.Generate(ctx, env, sf, dir); err != nil {
		return nil, err
	}
	progress("loading and timing DuckDB")
	d := suite.DuckDB{Root: env.Root, Database: filepath.Join(dir, "tpch.duckdb")}
	if err := d.Load(ctx, tpch.Schema, dir); err != nil {
		return nil, err
	}
	return d.Time(ctx, queries, runs)
}
