// Package keptcheck compares queries natively and over kept columns, under one snapshot,
// while others write, vacuum, change definitions, and kill processes: make kept-check.
package keptcheck

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

// Run compares queries until a time is over and writes build/kept-check.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	o := Options{Say: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	flags.DurationVar(&o.Duration, "duration", time.Minute, "how long to compare queries")
	flags.Uint64Var(&o.Seed, "seed", 0, "of all choices; 0: the time of day")
	flags.BoolVar(&o.Quick, "quick", false, "small tables, as in make test")
	flags.DurationVar(&o.Faults, "faults", 30*time.Second, "average time between two faults; 0: none")
	flags.IntVar(&o.Readers, "readers", 5, "sessions that compare")
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
		err = errors.Join(err, measure.WriteJSON(filepath.Join(env.Root, "build", "kept-check.json"), report))
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
	Readers  int
	Say      func(format string, args ...any)
}

// worker is somebody who works until the context ends.
type worker interface {
	run(ctx context.Context) error
}

// Check compares queries while everything changes. It returns an error, with the report,
// if a pair differs, a process crashes or a statement hangs.
func Check(ctx context.Context, env *harness.Env, o Options) (*Report, error) {
	r := rand.New(rand.NewPCG(o.Seed, 0))
	began := time.Now()
	w, err := start(ctx, env, r, o.Quick)
	if err != nil {
		return nil, err
	}
	c := &campaign{w: w, options: o, began: time.Now()}
	c.report.Seed, c.report.Server = o.Seed, env.Prefix.Version
	o.Say("seed %d, %s: filled in %.0f s", o.Seed, env.Prefix.Version, time.Since(began).Seconds())

	running, stop := context.WithTimeout(ctx, o.Duration)
	defer stop()
	c.stop = stop
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
	c.report.Kills = w.kills.Load()
	c.report.Seconds = measure.Round(time.Since(c.began).Seconds(), 1)
	if broken := w.broken(); broken != "" {
		failed = errors.Join(failed, errors.New(broken))
	}
	if c.report.Differences > 0 {
		failed = errors.Join(failed, fmt.Errorf("seed %d: %d of %d pairs differ", o.Seed, c.report.Differences, c.report.Pairs))
	}
	if failed != nil {
		failed = errors.Join(failed, c.keepLogs(env))
	}
	return &c.report, errors.Join(failed, w.stop())
}

// workers returns everybody who works on the server.
func (c *campaign) workers() []worker {
	next := uint64(0)
	client := func(name string) *client {
		next++
		return &client{Rand: rand.New(rand.NewPCG(c.options.Seed, next)), w: c.w, name: fmt.Sprintf("%s %d", name, next), log: c.options.Say}
	}
	var list []worker
	for range 8 {
		list = append(list, &writer{client: client("writer")})
	}
	list = append(list, &vacuumer{client("vacuumer")}, &dba{client("dba")})
	if c.options.Faults > 0 {
		list = append(list, &saboteur{client("saboteur"), c.options.Faults})
	}
	for range c.options.Readers {
		r := client("reader")
		list = append(list, &reader{client: r, queries: queries{r.Rand, c.w.tables}, campaign: c})
	}
	return list
}

// keepLogs copies the logs of the server and of the daemons to build/kept-check-logs.
func (c *campaign) keepLogs(env *harness.Env) error {
	dir := filepath.Join(env.Root, "build", "kept-check-logs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"server.log": c.w.cluster.Server().Log(), "gpujoind.log": c.w.daemon.Log()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return fmt.Errorf("the logs are in %s", dir)
}
