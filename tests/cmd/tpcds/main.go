// Command tpcds runs TPC-DS queries natively, forced into the daemon, and by the
// planner's own choice, compares the full results, and writes the measurements
// to build/tpcds.json. For comparison it times DuckDB on the same data.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/suite"
	"gpujoin/tests/tpcds"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "tpcds:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	sf := flag.Float64("sf", 1, "scale factor")
	chosen := flag.String("queries", "", "numbers of the queries; none: all 99")
	runs := flag.Int("runs", 1, "runs of each query in each mode; the median counts")
	timeout := flag.Duration("timeout", 2*time.Minute, "of one run of a query")
	flag.Parse()
	numbers, err := suite.Numbers(*chosen, tpcds.Queries)
	if err != nil {
		return err
	}

	fmt.Printf("TPC-DS at scale factor %g, medians of %d runs, of at most %v each\n", *sf, *runs, *timeout)
	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	database := tpcds.Database(env, *sf)
	progress("generating")
	if err := database.GenerateTPCDS(ctx, *sf); err != nil {
		return err
	}
	all, err := database.TPCDSQueries(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(q suite.Query) bool { return !slices.Contains(numbers, q.Number) })
	progress("timing DuckDB")
	duckDB, err := database.Time(ctx, all, *runs)
	if err != nil {
		return err
	}
	return suite.Run(ctx, env, suite.Program{
		Queries: all,
		DuckDB:  duckDB,
		Options: suite.Options{Runs: *runs, Timeout: *timeout},
		Load: func(s *harness.Session) error {
			return tpcds.Load(ctx, env, database, s, progress)
		},
		JSON: filepath.Join(env.Root, "build", "tpcds.json"),
	})
}

func progress(what string) { fmt.Println("  " + what) }
