package tpch

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"gpujoin/tests/harness"
	"gpujoin/tests/suite"
)

// Run runs queries of TPC-H natively, forced into the daemon, and by the planner's own
// choice, compares the full results, and writes the measurements to build/tpch.json. For
// comparison it times DuckDB on the same data.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	sf := flags.Float64("sf", 1, "scale factor")
	chosen := flags.String("queries", "", "numbers of the queries; none: all 22")
	runs := flags.Int("runs", 3, "runs of each query in each mode; the median counts")
	kept := flags.Bool("kept", false, "measure queries over kept columns")
	foreign := flags.Bool("foreign", false, "measure queries over foreign tables; writes build/tpch-foreign.json")
	if err := flags.Parse(args); err != nil {
		return err
	}
	numbers, err := suite.Numbers(*chosen, Queries)
	if err != nil {
		return err
	}
	var queries []suite.Query
	for _, n := range numbers {
		sql, err := Query(n, *sf)
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
	load := func(s *harness.Session) error { return Load(ctx, env, s, *sf, suite.Progress) }
	if *foreign {
		return suite.RunForeign(ctx, env, suite.ForeignProgram{Queries: queries, Tables: Tables, Runs: *runs, Load: load,
			JSON: filepath.Join(env.Root, "build", "tpch-foreign.json")})
	}
	duckDB, err := timeDuckDB(ctx, env, queries, *sf, *runs)
	if err != nil {
		return err
	}
	return suite.Run(ctx, env, suite.Program{
		Queries: queries,
		DuckDB:  duckDB,
		Options: suite.Options{Runs: *runs, Kept: *kept},
		Load:    load,
		JSON:    filepath.Join(env.Root, "build", "tpch.json"),
	})
}

// timeDuckDB returns DuckDB's times of the queries.
func timeDuckDB(ctx context.Context, env *harness.Env, queries []suite.Query, sf float64, runs int) (suite.Times, error) {
	dir, err := os.MkdirTemp(env.Work, "duckdb")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	suite.Progress("generating for DuckDB")
	if err := Generate(ctx, env, sf, dir); err != nil {
		return nil, err
	}
	suite.Progress("loading and timing DuckDB")
	d := suite.DuckDB{Root: env.Root, Database: filepath.Join(dir, "tpch.duckdb")}
	if err := d.Load(ctx, Schema, dir); err != nil {
		return nil, err
	}
	return d.Time(ctx, queries, runs)
}
