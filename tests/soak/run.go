// Package soak lets 32 clients work for long, with the extension and without it in turns:
// queries, short transactions, VACUUM, changes of definitions, sessions that come and go,
// cancels. It compares rows, samples every process, and compares latencies: make soak.
package soak

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Run runs all clients until a time is over and writes build/soak.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	duration := flags.Duration("duration", 10*time.Minute, "how long the clients work")
	seed := flags.Uint64("seed", 0, "of all choices; 0: the time of day")
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
	w, err := start(ctx, env)
	if err != nil {
		return err
	}
	c := &campaign{report: Report{Seed: *seed, Server: env.Prefix.Version, Circumstances: measure.Circumstances(env.Root)}}
	err = c.run(ctx, w, *duration)
	if broken := w.broken(); broken != "" {
		err = errors.Join(err, errors.New(broken))
	}
	if err = errors.Join(err, w.pair.Stop()); err != nil {
		return fmt.Errorf("seed %d: %w", *seed, err)
	}
	r := &c.report
	if err := measure.WriteJSON(filepath.Join(env.Root, "build", "soak.json"), r); err != nil {
		return err
	}
	table, err := r.table()
	if err != nil {
		return err
	}
	short, err := r.summary()
	if err != nil {
		return err
	}
	fmt.Printf("\n%s\n%s\n%s\n", r.Circumstances, table, short)
	if wrong := r.verdict(); wrong != nil {
		return fmt.Errorf("seed %d: %s", *seed, strings.Join(wrong, "; "))
	}
	return nil
}

// windowOf returns how long the clients work in one mode before they change to the other.
func windowOf(duration time.Duration) time.Duration {
	return max(3*time.Second, min(duration/20, 30*time.Second))
}

// run runs windows of the two modes in turns, and samples.
func (c *campaign) run(ctx context.Context, w *world, duration time.Duration) error {
	var clients []*client
	for _, kind := range composition {
		for range kind.count {
			clients = append(clients, &client{Rand: rand.New(rand.NewPCG(c.report.Seed, uint64(len(clients)))), w: w, c: c, kind: kind.kind, one: kind.one, every: kind.every})
		}
	}
	c.report.Clients = len(clients)
	began := time.Now()
	sampling, stop := context.WithCancel(ctx)
	var samples []sample
	var sampled error
	done := make(chan struct{})
	go func() {
		defer close(done)
		samples, sampled = w.watch(sampling, began, max(time.Second, duration/300))
	}()
	failed := c.windows(ctx, clients, began, duration)
	stop()
	<-done
	c.report.Seconds = measure.Round(time.Since(began).Seconds(), 1)
	for _, x := range clients {
		x.close()
	}
	if failed = errors.Join(failed, sampled, ctx.Err()); failed != nil {
		return failed
	}
	var err error
	if c.report.Offloaded, err = w.joins(ctx); err != nil {
		return err
	}
	return errors.Join(c.finish(samples), w.over(ctx))
}

// windows has all clients work in one window after the other. The first error ends the run.
func (c *campaign) windows(ctx context.Context, clients []*client, began time.Time, duration time.Duration) (failed error) {
	window := windowOf(duration)
	said := began
	for m := with; time.Since(began) < duration && failed == nil && ctx.Err() == nil; m = 1 - m {
		end := time.Now().Add(window)
		var all sync.WaitGroup
		var mu sync.Mutex
		for _, x := range clients {
			all.Go(func() {
				if err := x.work(ctx, m, end); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = errors.Join(failed, err)
				}
			})
		}
		all.Wait()
		if time.Since(said) >= 10*time.Second {
			said = time.Now()
			fmt.Printf("  %4.0f s: %s\n", time.Since(began).Seconds(), c.progress())
		}
	}
	return failed
}

// watch samples all processes until the context ends.
func (w *world) watch(ctx context.Context, began time.Time, every time.Duration) (samples []sample, err error) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return samples, nil
		case <-ticker.C:
			s, err := w.look(time.Since(began))
			if err != nil {
				return samples, err
			}
			samples = append(samples, s)
		}
	}
}
