package differential

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Run compares random queries until a time is over and writes build/differential.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) (err error) {
	duration := flags.Duration("duration", time.Minute, "how long to compare queries")
	seed := flags.Uint64("seed", 0, "seed of the first round; 0: the time of day")
	queries := flags.Int("queries", 100, "queries of a round")
	minimise := flags.Duration("minimise", time.Minute, "how long to minimise a difference")
	list := flags.Bool("list", false, "print the queries that stay native")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *seed == 0 {
		*seed = uint64(time.Now().Unix())
	}

	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	w, err := Start(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()

	c := &Campaign{World: w, Queries: *queries, Minimise: *minimise, List: *list,
		Say: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	c.Report.Seed = *seed
	begin := time.Now()
	over := func() bool { return time.Since(begin) > *duration || ctx.Err() != nil }
	for next := *seed; !over() && err == nil; next++ {
		err = c.Round(ctx, next, over)
		r := &c.Report
		r.Seconds = measure.Round(time.Since(begin).Seconds(), 1)
		fmt.Printf("  %5.0f s: seed %d: %d queries, %d offloaded, %d filtered by keys, %d over kept columns, %d errors, %d skipped, %d differences\n",
			r.Seconds, next, r.Queries, r.Offloaded, r.Filtered, r.Kept, r.Errors, r.Skipped, r.Differences)
	}
	r := c.Report
	err = errors.Join(err, measure.WriteJSON(filepath.Join(env.Root, "build", "differential.json"), r))
	switch {
	case err != nil:
		return err
	case r.Differences > 0:
		return fmt.Errorf("%d of %d queries differ", r.Differences, r.Queries)
	case r.Offloaded*10 < r.Queries*7:
		return fmt.Errorf("only %d of %d queries were offloaded", r.Offloaded, r.Queries)
	}
	return nil
}
