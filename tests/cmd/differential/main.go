// Command differential compares random queries natively and offloaded, and
// writes build/differential.json.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"gpujoin/tests/differential"
	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	duration := flag.Duration("duration", time.Minute, "how long to compare queries")
	seed := flag.Uint64("seed", 0, "seed of the first round; 0: the time of day")
	queries := flag.Int("queries", 100, "queries of a round")
	minimise := flag.Duration("minimise", time.Minute, "how long to minimise a difference")
	list := flag.Bool("list", false, "print the queries that stay native")
	flag.Parse()
	if *seed == 0 {
		*seed = uint64(time.Now().Unix())
	}

	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	w, err := differential.Start(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()

	c := &differential.Campaign{World: w, Queries: *queries, Minimise: *minimise, List: *list,
		Say: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	c.Report.Seed = *seed
	begin := time.Now()
	over := func() bool { return time.Since(begin) > *duration || ctx.Err() != nil }
	for next := *seed; !over() && err == nil; next++ {
		err = c.Round(ctx, next, over)
		r := &c.Report
		r.Seconds = measure.Round(time.Since(begin).Seconds(), 1)
		fmt.Printf("  %5.0f s: seed %d: %d queries, %d offloaded, %d filtered by keys, %d errors, %d skipped, %d differences\n",
			r.Seconds, next, r.Queries, r.Offloaded, r.Filtered, r.Errors, r.Skipped, r.Differences)
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
