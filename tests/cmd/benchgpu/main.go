//go:build cuda

// Command benchgpu times joins of columns in a GPU's memory, checks every result, and
// compares with the required times and, if available, with those of the paper's own
// executables: make bench-gpu.
//
// Keys are a bijection of their index over the full key width, dense only in cases that
// say so, and payloads are independent of them; no algorithm is told that keys are
// unique. ms is the time between two events on the device around the whole join,
// including the read-back of its row count; wall_ms is the host's. Both are medians.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"gpujoin/tests/columndata"
	"gpujoin/tests/measure"
)

// commit is the commit that this program was built from; the build sets it.
var commit = "unknown"

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench-gpu: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	var (
		device     = flag.Int("device", 0, "ordinal of the device")
		memory     = flag.Int64("memory", 48, "GiB of device memory for inputs and joins")
		repeats    = flag.Int("repeats", 7, "timed runs of each join")
		names      = flag.String("cases", "", "names of cases, by commas; all of the table where empty, \"-\" for none")
		algorithms = flag.String("algorithms", "", "names of algorithms, by commas; all where empty")
		phases     = flag.Bool("phases", false, "print the time of each phase, of one more run")
		out        = flag.String("json", "build/bench-gpu.json", "where the results are written")
		sequences  = flag.Int("sequences", 0, "also time sequences of 1 join up to this number, at most 8")
		sweeps     = flag.String("sweep", "", "also time joins of 1 to 16 payload columns of these widths, by commas: 1, 2, 4, 8, 16 or mixed")
		sweepKeys  = flag.String("sweep-keys", "4", "bytes of the keys of these joins, by commas: 4 or 8")
		groups     = flag.Bool("groups", true, "also time the default filters with aggregates")
		interpret  = flag.Bool("interpret", false, "interpret the programs of aggregates instead of compiling kernels for them")
		measured   = flag.Bool("profile", false, "measure the device first, print its rates and choose by them")
		peer       = flag.String("gje", "", "directory of GPU-Joins-Evaluation's executables, to run them on the same sizes afterwards")
		limit      = flag.Duration("gje-limit", 2*time.Minute, "how long each of their runs may take")
	)
	described, ownGroups := columndata.Flags(flag.CommandLine), customGroups(flag.CommandLine)
	flag.Parse()

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
	circumstances := measure.CircumstancesOf(commit)
	fmt.Printf("%s\n%s\n", circumstances, b.describe())
	if *measured {
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
		results[i].Measured = circumstances
		if results[i].wrong != "" {
			wrong++
		}
	}
	if err := errors.Join(err, measure.WriteJSON(*out, results)); err != nil {
		return err // the results before it are written
	}
	if *peer != "" {
		err := addPeers(ctx, *peer, *limit, list, results)
		if err := errors.Join(err, measure.WriteJSON(*out, results)); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d results are wrong", wrong)
	}
	return nil
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
