//go:build cuda

// Package bench times joins of columns in a GPU's memory, checks every result, and
// compares with the required times and, if available, with those of the paper's own
// executables: make bench-gpu.
//
// Keys are a bijection of their index over the full key width, dense only in cases that
// say so, and payloads are independent of them; no algorithm is told that keys are
// unique. ms is the time between two events on the device around the whole join,
// including the read-back of its row count; wall_ms is the host's. Both are medians.
package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"gpujoin/tests/columndata"
	"gpujoin/tests/gpu/bench/gje"
	"gpujoin/tests/measure"
)

// Run times what the arguments select, prints a table and writes build/bench-gpu.json. A
// wrong result is an error.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var (
		device     = flags.Int("device", 0, "ordinal of the device")
		memory     = flags.Int64("memory", 48, "GiB of device memory for inputs and joins")
		repeats    = flags.Int("repeats", 7, "timed runs of each join")
		names      = flags.String("cases", "", "names of cases, by commas; all of the table where empty, \"-\" for none")
		algorithms = flags.String("algorithms", "", "names of algorithms, by commas; all where empty")
		phases     = flags.Bool("phases", false, "print the time of each phase, of one more run")
		out        = flags.String("json", "build/bench-gpu.json", "where the results are written")
		sequences  = flags.Int("sequences", 0, "also time sequences of 1 join up to this number, at most 8")
		sweeps     = flags.String("sweep", "", "also time joins of 1 to 16 payload columns of these widths, by commas: 1, 2, 4, 8, 16 or mixed")
		sweepKeys  = flags.String("sweep-keys", "4", "bytes of the keys of these joins, by commas: 4 or 8")
		groups     = flags.Bool("groups", true, "also time the default filters with aggregates")
		interpret  = flags.Bool("interpret", false, "interpret the programs of aggregates instead of compiling kernels for them")
		measured   = flags.Bool("profile", false, "measure the device first, print its rates and choose by them")
		peer       = flags.String("gje", "", "directory of GPU-Joins-Evaluation's executables, to run them on the same sizes afterwards")
		limit      = flags.Duration("gje-limit", 2*time.Minute, "how long each of their runs may take")
	)
	described, ownGroups, common := columndata.Flags(flags), customGroups(flags), measure.NewFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}

	list, err := selected(*names)
	if err != nil {
		return err
	}
	if c, err := described(); err != nil {
		return err
	} else if c != nil {
		list = append(list, own(c))
	}
	if *sweeps != "" {
		more, err := sweep(split(*sweeps), split(*sweepKeys))
		if err != nil {
			return err
		}
		list = append(list, more...)
	}
	runners, err := choose(*algorithms)
	if err != nil {
		return err
	}
	b, err := open(*device, *memory<<30)
	if err != nil {
		return err
	}
	b.repeats, b.phases, b.specialise = *repeats, *phases, !*interpret
	run, err := common.BeginBuilt(ctx, suite, *out)
	if err == nil {
		run.Parameter("runs", b.repeats)
		run.Parameter("memory_gib", *memory)
		run.Chosen("cases", *names)
		run.Chosen("algorithms", *algorithms)
		fmt.Printf("%s\n%s\n", run, b.describe())
	}
	if err == nil && *measured {
		err = b.measure(ctx)
	}
	var results []result
	if err == nil {
		results, err = b.timeAll(ctx, list, runners, min(*sequences, 8))
	}
	grouped := ownGroups()
	if *groups {
		grouped = append(groupings(), grouped...)
	}
	if err == nil && len(grouped) > 0 {
		var timed []result
		timed, err = b.timeGroups(ctx, grouped)
		results = append(results, timed...)
	}
	b.close() // peers need the memory
	if len(results) == 0 {
		return err
	}
	wrong := 0
	for i := range results {
		if results[i].wrong != "" {
			wrong++
		}
	}
	if err := errors.Join(err, run.Save(documents(results))); err != nil {
		return err // the results before it are written
	}
	if *peer != "" {
		err = addPeers(ctx, *peer, *limit, list, results)
	}
	if err := errors.Join(err, run.Finish(documents(results))); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%d results are wrong", wrong)
	}
	return nil
}

// documents returns the lines as results of a document. Of an algorithm that ran by several
// names the first run counts.
func documents(results []result) (list []measure.Result) {
	for i := range results {
		list = append(list, results[i].document())
	}
	return measure.Distinct(list)
}

func split(list string) []string {
	var names []string
	for _, n := range strings.Split(list, ",") {
		if n = strings.TrimSpace(n); n != "" {
			names = append(names, n)
		}
	}
	return names
}

// addPeers runs GPU-Joins-Evaluation's executables on all cases, adds their
// times to the results and prints the comparison, even after an interruption.
func addPeers(ctx context.Context, directory string, limit time.Duration, list []join, results []result) error {
	var cases []gje.Case
	for _, c := range list {
		cases = append(cases, gje.Case{
			Name: c.name, Build: c.Build, Probe: c.Probe, Key: c.Key, BuildWidths: c.BuildWidths, ProbeWidths: c.ProbeWidths,
			Distinct: c.Distinct, Domain: c.Domain, Zipf: c.Zipf,
		})
	}
	times, err := gje.Run(ctx, directory, limit, cases, os.Stderr)
	var ours []gje.Ours
	for i := range results {
		r := &results[i]
		o := gje.Ours{Case: r.Case, Algorithm: r.Algorithm, MS: r.MS, Chosen: r.Chosen}
		r.PeerMS = gje.Peer(o, times)
		ours = append(ours, o)
	}
	return errors.Join(err, gje.Print(os.Stdout, ours, times))
}
