// Package kept measures columns that the daemon keeps between queries: what conditions on
// them cost, what it costs to prove that blocks have not changed, to capture them, and to
// keep nothing, and what is left of the gain when blocks change: make bench-kept.
package kept

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// settings: shared_buffers holds all tables, which are logged.
var settings = harness.Settings{
	"shared_buffers":                  "4GB",
	"effective_cache_size":            "6GB",
	"max_wal_size":                    "16GB",
	"checkpoint_timeout":              "'30min'",
	"max_parallel_workers_per_gather": "0",
	"jit":                             "off",
	// VACUUM does not call blocks all-visible whose transaction is not on disk yet.
	"synchronous_commit": "on",
}

// Settings of a session for a query that is offloaded and keeps or feeds its columns.
const (
	always = "set gpujoin.debug_force = on; set gpujoin.keep = always; "
	auto   = "set gpujoin.debug_force = on; set gpujoin.keep = auto; "
	fed    = "set gpujoin.debug_force = on; set gpujoin.keep = off; "
)

// bench is the state that the measurements share.
type bench struct {
	ctx     context.Context
	cluster *harness.Cluster
	daemon  *harness.Daemon
	session *harness.Session
	gb      float64 // of the table of many groups
	rows    int     // of the other tables
	runs    int
	parts   string
	warm    string // the statement that reads a table into shared buffers
	results []measure.Result
	tables  []string
}

// parts of the measurement by the names for -parts.
var parts = []struct {
	name string
	run  func(*bench) error
}{
	{"conditions", (*bench).conditions},
	{"levels", (*bench).levels},
	{"nothing", (*bench).nothing},
	{"captures", (*bench).captures},
	{"cliffs", (*bench).cliffs},
}

// Run measures what the arguments select and writes build/bench-kept.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) (err error) {
	b := &bench{ctx: ctx}
	flags.Float64Var(&b.gb, "gb", 1, "size of the table of many groups, in GB")
	flags.IntVar(&b.rows, "rows", 1_000_000, "rows of the other tables")
	flags.IntVar(&b.runs, "runs", 5, "runs of each measurement; the median counts")
	flags.StringVar(&b.parts, "parts", "conditions,levels,nothing,captures,cliffs", "what to measure")
	common := measure.NewFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	run, err := common.Begin(ctx, env.Root, "bench-kept", filepath.Join(env.Root, "build", "bench-kept.json"))
	if err != nil {
		return err
	}
	run.Parameter("gb", b.gb)
	run.Parameter("rows", b.rows)
	run.Parameter("runs", b.runs)
	run.Parameter("parts", b.parts)
	run.Server(env.Prefix.Version, settings)
	if b.cluster, err = env.NewCluster("", settings); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.cluster.Stop()) }()
	if b.session, err = b.cluster.Connect(ctx); err != nil {
		return err
	}
	defer b.session.Close()
	if err := b.session.Exec(ctx, "create extension gpujoin"); err != nil {
		return err
	}
	b.warm = "select count(*) from %s" // some servers come without pg_prewarm
	if b.session.Exec(ctx, "create extension pg_prewarm") == nil {
		b.warm = "select pg_prewarm('%s')"
	}
	for _, part := range parts {
		if !strings.Contains(b.parts, part.name) {
			continue
		}
		if err := part.run(b); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", part.name, err), b.stopDaemon())
		}
		// What was measured before a failure is kept.
		if err := errors.Join(run.Save(b.results), b.stopDaemon()); err != nil {
			return err
		}
	}
	if err := run.Finish(b.results); err != nil {
		return err
	}
	fmt.Printf("%s; %s\n", run, env.Prefix.Version)
	fmt.Println(strings.Join(b.tables, "\n"))
	return nil
}

// startDaemon starts a daemon that has kept nothing.
func (b *bench) startDaemon(options harness.DaemonOptions) (err error) {
	options["calibrate"] = "false"
	b.daemon, err = b.cluster.StartDaemon(options)
	return err
}

func (b *bench) stopDaemon() error {
	d := b.daemon
	if b.daemon = nil; d == nil {
		return nil
	}
	return d.Stop()
}

func (b *bench) exec(format string, args ...any) error {
	sql := fmt.Sprintf(format, args...)
	if err := b.session.Exec(b.ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// ready vacuums tables and reads them into shared buffers.
func (b *bench) ready(tables ...string) error {
	for _, t := range tables {
		for _, sql := range []string{"vacuum (freeze, analyze) " + t, fmt.Sprintf(b.warm, t)} {
			if err := b.exec("%s", sql); err != nil {
				return err
			}
		}
	}
	return nil
}

// once runs a query and returns its time in ms.
func (b *bench) once(s *harness.Session, settings, sql string) (float64, error) {
	if err := s.Exec(b.ctx, settings); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := s.Exec(b.ctx, sql); err != nil {
		return 0, fmt.Errorf("%s: %w", sql, err)
	}
	return float64(time.Since(begin).Microseconds()) / 1000, nil
}

// way is a query under settings.
type way struct{ settings, sql string }

// times runs queries in turn and returns the times of each, in ms.
func (b *bench) times(runs int, ways ...way) ([][]float64, error) {
	times := make([][]float64, len(ways))
	for range runs {
		for i, w := range ways {
			ms, err := b.once(b.session, w.settings, w.sql)
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], ms)
		}
	}
	return times, nil
}

// medians returns the medians of times.
func (b *bench) medians(runs int, ways ...way) ([]float64, error) {
	times, err := b.times(runs, ways...)
	medians := make([]float64, len(times))
	for i := range times {
		medians[i] = measure.Round(measure.Median(times[i]), 3)
	}
	return medians, err
}

// blocks are the heap blocks of a query by how the daemon got them.
type blocks struct{ Kept, Proved, Fed int }

// explain runs a query and returns its node with a job, and its blocks.
func (b *bench) explain(settings, sql string) (harness.Node, blocks, error) {
	if err := b.session.Exec(b.ctx, settings); err != nil {
		return nil, blocks{}, err
	}
	plan, err := b.session.Explain(b.ctx, "analyze, timing off", sql)
	if err != nil {
		return nil, blocks{}, err
	}
	jobs := plan.Jobs()
	if len(jobs) != 1 || jobs[0].Text("Provider") == "" || jobs[0].Text("Fallback") != "" {
		return nil, blocks{}, fmt.Errorf("not one offloaded job: %s: %v", sql, plan)
	}
	var n blocks
	for _, input := range jobs[0].Inputs() {
		n.Kept += int(input.Number("Blocks Kept"))
		n.Proved += int(input.Number("Blocks Proved"))
		n.Fed += int(input.Number("Blocks Fed"))
	}
	return jobs[0], n, nil
}

// keep runs a query until the blocks of its tables are served.
func (b *bench) keep(sql string) error {
	var n blocks
	for range 10 {
		var err error
		if _, n, err = b.explain(always, sql); err != nil {
			return err
		}
		// Blocks that were never written, at the end of a table, are always fed.
		if n.Fed*500 <= n.Kept && n.Proved == 0 && n.Kept > 0 {
			return nil
		}
		time.Sleep(200 * time.Millisecond) // the daemon copies what was captured
	}
	return fmt.Errorf("not kept: %s: %+v", sql, n)
}

// table adds a table to what is printed at the end.
func (b *bench) table(rows []string) error {
	text, err := measure.TableText(rows...)
	b.tables = append(b.tables, text)
	return err
}

// say prints progress.
func say(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }
