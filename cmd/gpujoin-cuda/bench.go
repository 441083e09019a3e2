//go:build cuda

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/cuda/transferjoin"
	"gpujoin/sidecar/config"
)

// bench runs the benchmark that args name, for gpujoind bench; it needs no daemon. It
// returns the exit code.
func bench(args []string, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := errors.New("usage: gpujoin-cuda bench transfer|mesh")
	switch {
	case len(args) > 0 && args[0] == "transfer":
		err = benchTransfer(ctx, args[1:], out, errOut)
	case len(args) > 0 && args[0] == "mesh":
		err = benchMesh(ctx, args[1:], out, errOut)
	}
	if err != nil {
		fmt.Fprintf(errOut, "gpujoin-cuda bench: %v\n", err)
		return 1
	}
	return 0
}

func benchTransfer(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("gpujoin-cuda bench transfer", flag.ContinueOnError)
	flags.SetOutput(errOut)
	var (
		device  = flags.Int("device", 0, "number of the GPU")
		sizes   = flags.String("sizes", "16MB,256MB,2GB", "sizes of transfers, separated by commas")
		repeats = flags.Int("repeats", 5, "timed transfers of each kind; the median is reported")
		unified = flags.Bool("unified", false, "also measure methods that migrate pages, up to 1 GB")
		join    = flags.Bool("join", false, "measure joins of inputs that reach the GPU by each method")
		rows    = flags.Int64("rows", 1<<27, "with join, rows of the probe side; the build side has a sixteenth")
		file    = flags.String("json", "", "also write the results to this file")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *join {
		w, err := transferjoin.Sized(*rows)
		if err != nil {
			return err
		}
		report, err := transferjoin.Measure(ctx, transferjoin.Config{Ordinal: *device, Workload: w, Repeats: *repeats, Unified: *unified})
		if report == nil {
			return err
		}
		return errors.Join(err, report.Print(out), writeJSON(*file, report))
	}
	cfg := links.MethodsConfig{Ordinal: *device, Repeats: *repeats, Unified: *unified}
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := config.ParseSize(text, 0)
		if err != nil {
			return err
		}
		cfg.Sizes = append(cfg.Sizes, n)
	}
	report, err := links.MeasureMethods(ctx, cfg)
	if report == nil {
		return err
	}
	// After an error, prints what was measured before it.
	return errors.Join(err, report.Print(out), writeJSON(*file, report))
}

// benchMesh measures the links between all GPUs that this process sees.
func benchMesh(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("gpujoin-cuda bench mesh", flag.ContinueOnError)
	flags.SetOutput(errOut)
	var (
		file  = flags.String("json", "", "also write the results to this file")
		cache = flags.String("mesh", "", "file with results for the same GPUs and driver: used instead of measuring; written if there are none")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	discover := func(ctx context.Context, ordinals []int) (*links.Facts, error) {
		return links.Discover(ctx, ordinals, false)
	}
	if *cache != "" {
		discover = func(ctx context.Context, ordinals []int) (*links.Facts, error) {
			return links.CachedFacts(ctx, *cache, ordinals, false)
		}
	}
	facts, err := discover(ctx, nil)
	if facts == nil {
		return err
	}
	return errors.Join(err, facts.Print(out), write(*file, facts.Encode))
}

// writeJSON writes a report, if the file has a name.
func writeJSON(file string, report any) error {
	return write(file, func() ([]byte, error) { return json.MarshalIndent(report, "", "  ") })
}

// write writes results to a file, if it has a name.
func write(file string, encode func() ([]byte, error)) error {
	if file == "" {
		return nil
	}
	text, err := encode()
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(bytes.TrimSpace(text), '\n'), 0o644)
}
