// Package load measures how joins and short transactions slow each other down when
// many clients work at once: native, as the planner chooses, with one of three joins
// forced into the daemon, and with all: make bench-load.
package load

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// settings: all tables fit in memory, and commits do not wait for a disk.
var settings = harness.Settings{
	"shared_buffers":     "1GB",
	"max_connections":    "200",
	"jit":                "off",
	"synchronous_commit": "off",
}

// modes of the clients' sessions, in the order of the tables.
var modes = []mode{
	{"native", "off", 0},
	{"automatic", "off", len(joins)},
	{"one forced", "on", 1},
	{"all forced", "on", len(joins)},
}

// mode is how joins run: the first `enabled` joins may be offloaded, the others
// run natively.
type mode struct {
	name    string
	force   string // gpujoin.debug_force
	enabled int    // joins that may be offloaded
}

// bench is the state that the clients share.
type bench struct {
	env     *harness.Env
	cluster *harness.Cluster
	clients int
	rows    int
	time    time.Duration
	budget  string
	cores   int
	seed    uint64
	common  measure.Flags
}

// Run measures all modes and writes build/bench-load.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var b bench
	flags.IntVar(&b.clients, "clients", 24, "clients that work at once")
	flags.IntVar(&b.rows, "rows", 300_000, "rows of each side of the joins")
	flags.DurationVar(&b.time, "time", 30*time.Second, "how long each mode is measured")
	flags.StringVar(&b.budget, "memory-budget", "2GB", "the daemon's")
	flags.IntVar(&b.cores, "cores", 0, "the daemon's; 0: all")
	flags.Uint64Var(&b.seed, "seed", 1, "of what clients draw")
	b.common = measure.NewFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	return b.run(ctx)
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.env, err = harness.Prepare(); err != nil {
		return err
	}
	run, err := b.common.Begin(ctx, b.env.Root, "bench-load", filepath.Join(b.env.Root, "build", "bench-load.json"))
	if err != nil {
		return err
	}
	run.Parameter("clients", b.clients)
	run.Parameter("rows", b.rows)
	run.Parameter("seconds", b.time.Seconds())
	run.Parameter("memory_budget", b.budget)
	run.Parameter("cores", b.cores)
	run.Server(b.env.Prefix.Version, settings)
	pair, err := b.env.StartPair(settings, harness.DaemonOptions{
		"memory-budget": b.budget, "cores": fmt.Sprint(b.cores), "memory-warm": "64MB",
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.Stop()) }()
	b.cluster = pair.Cluster
	session, err := b.cluster.Connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := b.fill(ctx, session); err != nil {
		return err
	}
	var results []*result
	var written []measure.Result
	for _, m := range modes {
		fmt.Printf("  %s: %d clients for %v\n", m.name, b.clients, b.time)
		r, err := b.measure(ctx, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		results, written = append(results, r), append(written, r.results()...)
	}
	if err := run.Finish(written); err != nil {
		return err
	}
	fmt.Println()
	fmt.Println(run)
	return print(os.Stdout, results)
}
