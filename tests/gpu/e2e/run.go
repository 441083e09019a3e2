// Package e2e runs joins of ten million rows and TPC-H through PostgreSQL natively, on
// the CPU provider and on CUDA, compares all rows, and reports the time spent on feeding.
//
// In an archive made by make gpu-bundle it uses only that archive; in the
// repository it uses the results of make build and make cuda.
package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gpujoin/joincore/costmodel"
	"gpujoin/tests/measure"
	"gpujoin/tests/suite"
	"gpujoin/tests/tpch"
)

// options are the flags.
type options struct {
	archive string
	plugin  string
	out     string
	sf      float64
	rows    int
	runs    int
	workers int
	devices int
	// strategy is how several GPUs execute a job together, where they can.
	strategy string
	// limit is the memory of joins on each GPU then; "": sharedMemory.
	limit string
	// transfer is how inputs reach a GPU.
	transfer string
	// peers is whether GPUs access each other's memory.
	peers   string
	parts   string
	queries string
	kept    bool // measure queries over kept columns instead
	foreign bool // measure queries over foreign tables instead
	common  measure.Flags
}

// Run runs what the arguments select, prints one table and writes build/gpu-e2e.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var o options
	beside := ""
	if self, err := os.Executable(); err == nil {
		if path := filepath.Join(filepath.Dir(self), "bundle.tar.zst"); fileExists(path) {
			beside = path
		}
	}
	flags.StringVar(&o.archive, "bundle", beside, "archive made by make gpu-bundle, or a directory that it was unpacked to; none: use this repository")
	flags.StringVar(&o.plugin, "plugin", "", "worker in the place of gpujoin-cuda")
	flags.StringVar(&o.out, "out", filepath.Join("build", "gpu-e2e.json"), "file for the results")
	flags.Float64Var(&o.sf, "sf", 1, "TPC-H scale factor")
	flags.IntVar(&o.rows, "rows", 10_000_000, "rows of the dimension; facts have as many, and four times as many")
	flags.IntVar(&o.runs, "runs", 3, "runs of each query in each mode; the median counts")
	flags.IntVar(&o.workers, "workers", defaultWorkers(), "parallel workers of a query, beside its leader")
	flags.IntVar(&o.devices, "devices", 1, "most GPUs of a job: with more than 1, or the strategy hybrid, each query also runs so and is compared with one")
	flags.StringVar(&o.transfer, "transfer-method", "auto", "how inputs reach a GPU: a value of the daemon's cuda-transfer-method")
	flags.StringVar(&o.peers, "peer-access", "auto", "whether GPUs access each other's memory: a value of the daemon's cuda-peer-access")
	flags.StringVar(&o.strategy, "strategy", "auto", "how several GPUs execute a job together, where they can: a value of the daemon's cuda-strategy")
	flags.StringVar(&o.limit, "strategy-memory", sharedMemory, "memory of joins on each GPU that executes them so: a value of the daemon's cuda-memory")
	flags.StringVar(&o.parts, "parts", "joins,tpch,faults", "what to run")
	flags.StringVar(&o.queries, "queries", "", "numbers of TPC-H queries; none: all 22")
	flags.BoolVar(&o.kept, "kept", false, "only compare cores with CUDA over kept columns: joins of 1 M rows times -sf and 4 times as many, and TPC-H")
	flags.BoolVar(&o.foreign, "foreign", false, "only compare cores with CUDA over foreign tables that are mirrored, alone and with local tables, before and after changes at the source: the same joins and TPC-H")
	o.common = measure.NewFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case o.kept && o.foreign:
		return errors.New("-kept and -foreign exclude each other")
	case o.kept:
		return runKept(ctx, o)
	case o.foreign:
		return runForeign(ctx, o)
	}
	return run(ctx, o)
}

// several reports whether queries also run on several GPUs, or on one by a strategy that differs from what it does
// alone.
func (o options) several() bool { return o.devices > 1 || o.strategy == costmodel.Hybrid.String() }

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// run runs the selected parts; a run that is stopped leaves what it has measured.
func run(ctx context.Context, o options) (err error) {
	numbers, err := suite.Numbers(o.queries, tpch.Queries)
	if err != nil {
		return err
	}
	w, err := newWorld(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	wanted := func(part string) bool { return strings.Contains(o.parts, part) }
	var queries, joins []query
	if wanted("joins") || wanted("faults") {
		if joins, err = w.fillJoins(ctx); err != nil {
			return err
		}
		if wanted("joins") {
			queries = append(queries, joins...)
		}
	}
	if wanted("tpch") {
		loaded, err := w.fillTPCH(ctx, numbers)
		if err != nil {
			return err
		}
		queries = append(queries, loaded...)
	}
	var results []*result
	for _, q := range queries {
		r, err := w.measure(ctx, q)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		results = append(results, r)
		say("%s: %s", q.name, r.brief())
		if err := w.run.Save(document(results, nil, nil)); err != nil {
			return err
		}
	}
	var divided []*phasesResult
	if wanted("joins") {
		if divided, err = w.phasesOf(ctx, joins); err != nil {
			return err
		}
	}
	var broken []*faultResult
	if wanted("faults") {
		if broken, err = w.breakThings(ctx); err != nil {
			return err
		}
	}
	if err := w.run.Finish(document(results, divided, broken)); err != nil {
		return err
	}
	return errors.Join(w.print(os.Stdout, results), w.printSeveral(os.Stdout, results), printPhases(os.Stdout, divided), printFaults(os.Stdout, broken))
}

// say prints progress.
func say(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }
