package ablation

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
	"gpujoin/tests/suite"
	"gpujoin/tests/tpcds"
	"gpujoin/tests/tpch"
)

// Run leaves out corrections as the arguments say, prints a table for each suite, and
// writes build/ablation.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	sf := flags.Float64("sf", 1, "scale factor")
	runs := flags.Int("runs", 3, "runs of each plan; the median counts; 0: only compare plans")
	timeout := flags.Duration("timeout", 30*time.Second, "of one run, which then counts as so long")
	without := flags.String("without", "", "corrections to leave out in turn; none: all")
	suites := flags.String("suites", "tpch tpcds", "what to measure")
	common := measure.NewFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}

	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	o := Options{Corrections: strings.Fields(*without), Runs: *runs, Timeout: *timeout}
	run, err := common.Begin(ctx, env.Root, "ablation", filepath.Join(env.Root, "build", "ablation.json"))
	if err != nil {
		return err
	}
	run.Parameter("sf", *sf)
	run.Parameter("runs", *runs)
	run.Parameter("suites", *suites)
	run.Chosen("without", *without)
	run.Server(env.Prefix.Version, suite.Settings())
	var results []measure.Result
	for _, s := range []struct {
		flag, name string
		run        func(context.Context, *harness.Env, float64, Options) ([]Result, error)
	}{{"tpch", "TPC-H", tpchResults}, {"tpcds", "TPC-DS", tpcdsResults}} {
		if !slices.Contains(strings.Fields(*suites), s.flag) {
			continue
		}
		fmt.Printf("%s at scale factor %g, medians of %d runs\n", s.name, *sf, *runs)
		r, err := s.run(ctx, env, *sf, o)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		for i := range r {
			results = append(results, r[i].results(s.name)...)
		}
		if err := run.Save(results); err != nil {
			return err
		}
		fmt.Println(run)
		if err := measure.Table(os.Stdout, Table(r)...); err != nil {
			return err
		}
	}
	return run.Finish(results)
}

func tpchResults(ctx context.Context, env *harness.Env, sf float64, o Options) ([]Result, error) {
	var queries []Query
	for n := 1; n <= tpch.Queries; n++ {
		sql, err := tpch.Query(n, sf)
		if err != nil {
			return nil, err
		}
		queries = append(queries, Query{Name: fmt.Sprintf("H%d", n), SQL: sql})
	}
	return measured(ctx, env, queries, o, func(s *harness.Session) error {
		return tpch.Load(ctx, env, s, sf, suite.Progress)
	})
}

func tpcdsResults(ctx context.Context, env *harness.Env, sf float64, o Options) ([]Result, error) {
	database := tpcds.Database(env, sf)
	if err := database.GenerateTPCDS(ctx, sf); err != nil {
		return nil, err
	}
	all, err := database.TPCDSQueries(ctx)
	if err != nil {
		return nil, err
	}
	var queries []Query
	for _, q := range all {
		queries = append(queries, Query{Name: fmt.Sprintf("DS%d", q.Number), SQL: q.SQL})
	}
	return measured(ctx, env, queries, o, func(s *harness.Session) error {
		return tpcds.Load(ctx, env, database, s)
	})
}

func measured(ctx context.Context, env *harness.Env, queries []Query, o Options,
	load func(*harness.Session) error) (results []Result, err error) {
	pair, session, err := suite.Start(ctx, env, suite.Settings(), load)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close(), pair.Stop()) }()
	return Measure(ctx, session, queries, o)
}
