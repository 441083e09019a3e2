// Package scaleout measures queries over tables whose rows several nodes share, with the
// joins native and offloaded on the nodes: make bench-scale-out.
package scaleout

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/shards"
	"gpujoin/tests/measure"
)

// settings: tables fit in memory. Columns are not kept between runs.
var settings = harness.Settings{
	"shared_buffers":       "512MB",
	"effective_cache_size": "2GB",
	"work_mem":             "64MB",
	"jit":                  "off",
	"gpujoin.keep":         "off",
}

// Report is the content of build/bench-scale-out.json.
type Report struct {
	Circumstances string   `json:"circumstances"`
	Server        string   `json:"server"`
	Nodes         int      `json:"nodes"`
	Orders        int      `json:"orders"` // of all nodes; lineitem has three times as many rows
	Results       []Result `json:"results"`
}

// Result is the entry of one query.
type Result struct {
	Query       string  `json:"query"`
	NativeMs    float64 `json:"native_ms"`
	OffloadedMs float64 `json:"offloaded_ms"`
	Jobs        int     `json:"jobs"` // of all nodes, of one offloaded run
	Rows        int     `json:"rows"`
	Equal       bool    `json:"equal"`
}

// modes are schemas of the coordinator, by what its sessions on the nodes set.
var modes = []struct{ schema, settings string }{
	{"native", "-c gpujoin.enabled=off -c cursor_tuple_fraction=1"},
	{"offloaded", "-c cursor_tuple_fraction=1"},
}

// bench is the state that the measurements share.
type bench struct {
	ctx    context.Context
	world  *shards.World
	runs   int
	report Report
}

// Run measures the queries and writes build/bench-scale-out.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) (err error) {
	b := &bench{ctx: ctx}
	nodes := flags.Int("nodes", 2, "servers that share the rows, each with a daemon")
	orders := flags.Int("orders", 1_000_000, "orders of all nodes; each has three lines")
	flags.IntVar(&b.runs, "runs", 3, "runs of each measurement; the median counts")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *nodes < 1 || *orders < *nodes || b.runs < 1 {
		return errors.New("there must be a node, an order a node, and a run")
	}
	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	fmt.Printf("  filling %d nodes\n", *nodes)
	b.world, err = shards.Start(ctx, env, shards.Options{Nodes: *nodes, Orders: *orders / *nodes, Settings: settings, Daemon: harness.DaemonOptions{"memory-budget": "2GB"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.world.Stop()) }()
	b.report = Report{Circumstances: measure.Circumstances(env.Root), Server: env.Prefix.Version, Nodes: *nodes, Orders: *orders / *nodes * *nodes}
	for _, m := range modes {
		if err := b.world.Attach(ctx, m.schema, m.settings); err != nil {
			return err
		}
	}
	for _, n := range b.world.Nodes {
		if err := n.Session.Exec(ctx, "vacuum orders, lineitem"); err != nil {
			return err
		}
	}
	for _, q := range []struct{ name, sql string }{
		{"group by the shard key", shards.ByKey},
		{"group by other columns", shards.ByOthers},
		{"the same, as UNION ALL of one aggregate a node", shards.ByOthersOfParts(*nodes)},
	} {
		if err := b.measure(q.name, q.sql); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		if err := measure.WriteJSON(filepath.Join(env.Root, "build", "bench-scale-out.json"), b.report); err != nil {
			return err
		}
	}
	return b.print()
}

// measure runs a query in the modes in turn, after one run of each that is not timed.
func (b *bench) measure(name, sql string) error {
	times := map[string][]float64{}
	r := Result{Query: name, Equal: true}
	var want *harness.Result
	for round := range b.runs + 1 {
		for _, m := range modes {
			before, err := b.jobs()
			if err != nil {
				return err
			}
			began := time.Now()
			got, err := b.world.Coordinator.Session.Query(b.ctx, "set search_path = "+m.schema+"; "+sql)
			if err != nil {
				return err
			}
			took := measure.Ms(time.Since(began))
			after, err := b.jobs()
			if err != nil {
				return err
			}
			if want == nil {
				want, r.Rows = got, len(got.Rows)
			}
			r.Equal = r.Equal && harness.SameRows(want, got) == ""
			if m.schema == "offloaded" {
				r.Jobs = after - before
			} else if after != before {
				return fmt.Errorf("%d jobs of a native run", after-before)
			}
			if round > 0 {
				times[m.schema] = append(times[m.schema], took)
			}
		}
	}
	r.NativeMs, r.OffloadedMs = measure.Median(times["native"]), measure.Median(times["offloaded"])
	b.report.Results = append(b.report.Results, r)
	return nil
}

// jobs returns how many jobs the daemons of all nodes have admitted.
func (b *bench) jobs() (sum int, err error) {
	jobs, err := b.world.Jobs(b.ctx)
	for _, n := range jobs {
		sum += n
	}
	return sum, err
}

// print prints the table. Rows that differ are an error.
func (b *bench) print() error {
	fmt.Printf("%s; %s; %d nodes and a coordinator share the cores; %d orders, %d lines\n",
		b.report.Circumstances, b.report.Server, b.report.Nodes, b.report.Orders, 3*b.report.Orders)
	rows := []string{"query\tnative ms\toffloaded ms\tratio\tjobs\trows\tequal"}
	var different []string
	for _, r := range b.report.Results {
		rows = append(rows, fmt.Sprintf("%s\t%.0f\t%.0f\t%.1f\t%d\t%d\t%v", r.Query, r.NativeMs, r.OffloadedMs, r.NativeMs/r.OffloadedMs, r.Jobs, r.Rows, r.Equal))
		if !r.Equal {
			different = append(different, r.Query)
		}
	}
	if err := measure.Table(os.Stdout, rows...); err != nil {
		return err
	}
	if different != nil {
		return fmt.Errorf("other rows than natively: %s", strings.Join(different, "; "))
	}
	return nil
}
