// Package join measures joins of ten million rows in the daemon against PostgreSQL's
// best native plan, the rates of feeding, the cost of planning, and the daemon's memory:
// make bench-join.
package join

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Settings: shared_buffers holds all tables, and tables filled in the transaction that
// creates them write no WAL.
var settings = harness.Settings{
	"shared_buffers":       "4GB",
	"effective_cache_size": "6GB",
	"wal_level":            "minimal",
	"max_wal_senders":      "0",
	"jit":                  "off",
	"gpujoin.keep":         "off",
}

// keptSettings are those for joins over kept columns: tables must be logged.
var keptSettings = harness.Settings{"wal_level": "replica", "gpujoin.keep": "auto"}

// bench is the state that the measurements share.
type bench struct {
	ctx     context.Context
	env     *harness.Env
	cluster *harness.Cluster
	daemon  *harness.Daemon
	session *harness.Session
	rows    int // of the large tables
	runs    int
	kept    bool // joins read kept columns
	parts   string
	common  measure.Flags
	run     *measure.Run
	results []measure.Result
	table   []string
}

// parts of the measurement by the names for -parts.
var parts = []struct {
	name string
	run  func(*bench) error
}{
	{"joins", (*bench).joins},
	{"feeds", (*bench).feeds},
	{"planning", (*bench).planning},
}

// window is the maximum number of result batches in flight of a job.
const window = 16

// Run measures what the arguments select and writes build/bench-join.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	b := &bench{ctx: ctx}
	flags.IntVar(&b.rows, "rows", 10_000_000, "rows of the large tables")
	flags.IntVar(&b.runs, "runs", 5, "runs of each measurement; the median counts")
	flags.BoolVar(&b.kept, "kept", false, "measure joins over kept columns")
	flags.StringVar(&b.parts, "parts", "joins,feeds,planning", "what to measure")
	b.common = measure.NewFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	return b.measure()
}

func (b *bench) measure() (err error) {
	if b.env, err = harness.Prepare(); err != nil {
		return err
	}
	all := maps.Clone(settings)
	if b.kept {
		maps.Copy(all, keptSettings)
	}
	name := "bench-join"
	if b.kept {
		name = "bench-join-kept"
	}
	if b.run, err = b.common.Begin(b.ctx, b.env.Root, name, filepath.Join(b.env.Root, "build", "bench-join.json")); err != nil {
		return err
	}
	b.run.Parameter("rows", b.rows)
	b.run.Parameter("runs", b.runs)
	b.run.Parameter("parts", b.parts)
	b.run.Server(b.env.Prefix.Version, all)
	pair, err := b.env.StartPair(all, harness.DaemonOptions{"window": fmt.Sprint(window)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.Stop()) }()
	b.cluster, b.daemon = pair.Cluster, pair.Daemon
	if b.session, err = b.cluster.Connect(b.ctx); err != nil {
		return err
	}
	defer b.session.Close()
	if err := b.session.Exec(b.ctx, "create extension gpujoin"); err != nil {
		return err
	}

	if err := b.fill(); err != nil {
		return err
	}
	for _, part := range parts {
		if !strings.Contains(b.parts, part.name) {
			continue
		}
		// What was measured before a failure is kept.
		err := part.run(b)
		if err := errors.Join(err, b.run.Save(b.results)); err != nil {
			return err
		}
	}
	if err := b.run.Finish(b.results); err != nil {
		return err
	}
	fmt.Println()
	fmt.Println(b.run)
	for _, line := range b.table {
		fmt.Println(line)
	}
	return nil
}

// say prints progress.
func say(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }
