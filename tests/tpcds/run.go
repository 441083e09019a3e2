package tpcds

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
	"gpujoin/tests/suite"
)

// Run runs queries of TPC-DS natively, forced into the daemon, and by the planner's own
// choice, compares the full results, and writes the measurements to build/tpcds.json. For
// comparison it times DuckDB on the same data.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	sf := flags.Float64("sf", 1, "scale factor")
	chosen := flags.String("queries", "", "numbers of the queries; none: all 99")
	runs := flags.Int("runs", 1, "runs of each query in each mode; the median counts")
	timeout := flags.Duration("timeout", 2*time.Minute, "of one run of a query")
	kept := flags.Bool("kept", false, "measure queries over kept columns")
	common := measure.NewFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	numbers, err := suite.Numbers(*chosen, Queries)
	if err != nil {
		return err
	}

	fmt.Printf("TPC-DS at scale factor %g, medians of %d runs, of at most %v each\n", *sf, *runs, *timeout)
	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	name := "tpcds"
	if *kept {
		name = "tpcds-kept"
	}
	run, err := common.Begin(ctx, env.Root, name, filepath.Join(env.Root, "build", "tpcds.json"))
	if err != nil {
		return err
	}
	run.Parameter("sf", *sf)
	run.Parameter("runs", *runs)
	run.Chosen("queries", *chosen)
	run.Parameter("timeout_s", timeout.Seconds())
	database := Database(env, *sf)
	if run.Software[measure.DuckDB], err = database.Version(ctx); err != nil {
		return err
	}
	suite.Progress("generating")
	if err := database.GenerateTPCDS(ctx, *sf); err != nil {
		return err
	}
	all, err := database.TPCDSQueries(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(q suite.Query) bool { return !slices.Contains(numbers, q.Number) })
	suite.Progress("timing DuckDB")
	duckDB, err := database.Time(ctx, all, *runs)
	if err != nil {
		return err
	}
	return suite.Run(ctx, env, suite.Program{
		Queries: all,
		DuckDB:  duckDB,
		Options: suite.Options{Runs: *runs, Kept: *kept, Timeout: *timeout},
		Load: func(s *harness.Session) error {
			return Load(ctx, env, database, s)
		},
		Run: run,
	})
}
