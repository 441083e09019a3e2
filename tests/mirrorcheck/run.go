// Package mirrorcheck checks queries of foreign tables while writers change the source and
// everything fails in between: make mirror-check.
package mirrorcheck

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Run checks queries until a time is over and writes build/mirror-check.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	o := Options{Say: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	flags.DurationVar(&o.Duration, "duration", time.Minute, "how long to check queries")
	flags.Uint64Var(&o.Seed, "seed", 0, "of all choices; 0: the time of day")
	flags.BoolVar(&o.Quick, "quick", false, "small tables, as in make test")
	flags.DurationVar(&o.Faults, "faults", 15*time.Second, "average time between two faults; 0: none")
	flags.DurationVar(&o.Barriers, "barriers", 20*time.Second, "time between two barriers")
	flags.IntVar(&o.Readers, "readers", 4, "sessions that check")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().Unix())
	}
	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	report, err := Check(ctx, env, o)
	if report != nil {
		err = errors.Join(err, measure.WriteJSON(filepath.Join(env.Root, "build", "mirror-check.json"), report))
		o.Say("%s", report)
	}
	return err
}

// Options say what a run does.
type Options struct {
	Duration time.Duration
	Seed     uint64
	Quick    bool          // small tables
	Faults   time.Duration // average time between two faults; 0: there are none
	Barriers time.Duration // between two
	Readers  int
	Source   *harness.Env // the source's server; nil: the local one's
	Say      func(format string, args ...any)
}

// worker is somebody who works until the context ends.
type worker interface {
	run(ctx context.Context) error
}

// Check runs queries while the source changes. It returns an error, with the report, if
// anything is wrong.
func Check(ctx context.Context, env *harness.Env, o Options) (*Report, error) {
	began := time.Now()
	w, err := start(ctx, env, o)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithTimeout(ctx, o.Duration)
	defer stop()
	c := newCampaign(w, o, stop)
	c.report.Server, c.report.Source = env.Prefix.Version, w.Source.Env.Prefix.Version
	o.Say("seed %d, %s, source %s: filled and mirrored in %.0f s", o.Seed, c.report.Server, c.report.Source, time.Since(began).Seconds())
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for i, x := range c.workers() {
		all.Go(func() {
			if err := x.run(running); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, fmt.Errorf("worker %d: %w", i, err))
				stop()
			}
		})
	}
	c.watch(running)
	all.Wait()
	report := c.finish()
	if broken := w.broken(); broken != "" {
		failed = errors.Join(failed, errors.New(broken))
	}
	if report.Violations > 0 {
		failed = errors.Join(failed, fmt.Errorf("seed %d: %d violations in %d queries", o.Seed, report.Violations, report.Queries))
	}
	if failed != nil {
		failed = errors.Join(failed, w.keepLogs(env))
	}
	return report, errors.Join(failed, w.stop())
}

// workers returns everybody who works on the servers.
func (c *campaign) workers() []worker {
	next := uint64(0)
	client := func(name string) *client {
		next++
		return &client{Rand: rand.New(rand.NewPCG(c.options.Seed, next)), world: c.w, name: fmt.Sprintf("%s %d", name, next)}
	}
	var list []worker
	for i := range writers {
		list = append(list, &writer{client: client("writer"), w: i + 1})
	}
	list = append(list, &pacer{client("pacer")}, &auditor{client("auditor"), c, c.options.Barriers})
	if c.options.Faults > 0 {
		list = append(list, &saboteur{client: client("saboteur"), campaign: c, every: c.options.Faults})
	}
	for range c.options.Readers {
		list = append(list, &reader{client: client("reader"), campaign: c, invariants: c.w.sizes.invariants()})
	}
	return list
}

// watch shows progress.
func (c *campaign) watch(ctx context.Context) {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.mu.Lock()
			r := c.report
			c.mu.Unlock()
			c.options.Say("  %4.0f s: %d queries, %d mirrored, %d direct; %d checks, %d tables compared, %d commits; %d violations",
				time.Since(c.began).Seconds(), r.Queries, r.Mirrored, r.Direct, r.Checks, r.Compared, c.w.commits.Load(), r.Violations)
		}
	}
}

// keepLogs copies the logs of the servers and of the daemons to build/mirror-check-logs.
func (w *world) keepLogs(env *harness.Env) error {
	dir := filepath.Join(env.Root, "build", "mirror-check-logs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"source.log": w.Source.Server().Log(), "local.log": w.Local.Server().Log(), "gpujoind.log": w.Daemon.Log()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return fmt.Errorf("the logs are in %s", dir)
}
