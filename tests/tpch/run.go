package tpch

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
	"gpujoin/tests/suite"
)

// Run runs queries of TPC-H natively, forced into the daemon, and by the planner's own
// choice, compares the full results, and writes the measurements to build/tpch.json. For
// comparison it times DuckDB on the same data, and with -scan on PostgreSQL's own tables.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	sf := flags.Float64("sf", 1, "scale factor")
	chosen := flags.String("queries", "", "numbers of the queries; none: all 22")
	runs := flags.Int("runs", 3, "runs of each query in each mode; the median counts")
	kept := flags.Bool("kept", false, "measure queries over kept columns")
	foreign := flags.Bool("foreign", false, "measure queries over foreign tables; writes build/tpch-foreign.json")
	workers := flags.String("workers", "", "also run the native plans with these numbers of workers for each Gather, such as \"4 8\"")
	scan := flags.Bool("scan", false, "also have DuckDB read PostgreSQL's tables, as pg_duckdb does")
	common := measure.NewFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	numbers, err := suite.Numbers(*chosen, Queries)
	if err != nil {
		return err
	}
	more, err := suite.WorkerCounts(*workers)
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
	name, file := "tpch", "tpch.json"
	switch {
	case *foreign:
		name, file = "tpch-foreign", "tpch-foreign.json"
	case *kept:
		name = "tpch-kept"
	}
	run, err := common.Begin(ctx, env.Root, name, filepath.Join(env.Root, "build", file))
	if err != nil {
		return err
	}
	run.Parameter("sf", *sf)
	run.Parameter("runs", *runs)
	run.Chosen("queries", *chosen)
	run.Chosen("workers", *workers)
	if *scan {
		run.Parameter("scan", true)
	}
	load := func(s *harness.Session) error { return Load(ctx, env, s, *sf, suite.Progress) }
	if *foreign {
		return suite.RunForeign(ctx, env, suite.ForeignProgram{Queries: queries, Tables: Tables, Runs: *runs, Load: load, Run: run})
	}
	duckDB, err := timeDuckDB(ctx, env, queries, *sf, *runs)
	if err != nil {
		return err
	}
	d := suite.DuckDB{Root: env.Root}
	if run.Software[measure.DuckDB], err = d.Version(ctx); err != nil {
		return err
	}
	program := suite.Program{
		Queries: queries,
		DuckDB:  duckDB,
		Options: suite.Options{Runs: *runs, Kept: *kept, Workers: more},
		Load:    load,
		Run:     run,
	}
	if *scan {
		program.Loaded = func(c *harness.Cluster) (suite.Times, error) {
			suite.Progress("timing DuckDB on PostgreSQL's tables")
			return d.TimePostgres(ctx, queries, *runs, c.ConnString())
		}
	}
	return suite.Run(ctx, env, program)
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
