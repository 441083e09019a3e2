//go:build cuda

// Command benchgpu times joins of columns that lie in a GPU's memory, checks
// every result, and compares with the times that are asked for: make bench-gpu.
//
// Keys are a bijection of their index over the full key width, never dense, and
// payloads are independent of them; no algorithm is told that keys are unique.
// ms is the time between two events on the device around the whole join, the
// read-back of its row count included; wall_ms is the host's. Both are medians.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"gpujoin/joincore/cuda/auto"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/profile"
)

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
		sequences  = flag.Int("sequences", 0, "also time sequences of 1 to so many joins, at most 8")
		fetch      = flag.Int64("fetch-granularity", 0, "ask that a read which misses the L2 brings at most 32, 64 or 128 bytes there; 0: as the driver has it")
		measured   = flag.Bool("profile", false, "measure the device first, print its rates and choose by them")
		peer       = flag.String("gje", "", "directory of GPU-Joins-Evaluation's executables, to run them on the same sizes")
	)
	own := customCase(flag.CommandLine)
	flag.Parse()

	b, err := open(*device, *memory<<30)
	if err != nil {
		return err
	}
	defer b.close()
	b.repeats, b.phases = *repeats, *phases
	list, err := selected(table(), *names)
	if err != nil {
		return err
	}
	if c, err := own(); err != nil {
		return err
	} else if c != nil {
		list = append(list, *c)
	}
	runners, err := choose(*algorithms)
	if err != nil {
		return err
	}
	info := b.device.Info()
	fmt.Printf("%s, driver %d.%d, %d multiprocessors; medians of %d\n", info.Name, info.Driver/1000, info.Driver%1000/10, info.SMs, *repeats)
	if *fetch != 0 {
		is, err := b.device.FetchGranularity(*fetch)
		if err != nil {
			return err
		}
		fmt.Printf("fetch granularity: %d bytes\n", is)
	}
	if *measured {
		if err := b.profile(ctx); err != nil {
			return err
		}
	}
	var results []result
	wrong := 0
	header()
	for _, c := range list {
		if err := b.fill(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		ours, bad := b.all(ctx, c, runners)
		if *peer != "" {
			if err := addPeer(ctx, *peer, c, ours); err != nil {
				return err
			}
		}
		for i := range ours {
			ours[i].print()
		}
		results, wrong = append(results, ours...), wrong+bad
	}
	for n := 1; n <= min(*sequences, 8); n++ {
		for _, a := range runners {
			r, err := b.sequence(ctx, n, a)
			if err != nil {
				r.wrong = err.Error()
			}
			if r.wrong != "" {
				wrong++
			}
			r.print()
			results = append(results, r)
		}
	}
	if err := write(*out, results); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%d results are wrong", wrong)
	}
	return nil
}

// profile makes the model go by rates of this device.
func (b *bench) profile(ctx context.Context) error {
	start := time.Now()
	rates, err := profile.Measure(ctx, b.device, b.stream, b.arena)
	if err != nil {
		return err
	}
	took := time.Since(start)
	text, err := json.Marshal(rates)
	if err != nil {
		return err
	}
	fmt.Printf("measured in %v: %s\n", took.Round(time.Millisecond), text)
	auto.Use(b.device, rates)
	return nil
}

func write(path string, results []result) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// bench is a device with an arena.
type bench struct {
	device  *driver.Context
	stream  *driver.Stream
	arena   *driver.Arena
	data    data
	repeats int
	phases  bool
}

func open(ordinal int, memory int64) (*bench, error) {
	d, err := driver.Open(ordinal)
	if err != nil {
		return nil, err
	}
	b := &bench{device: d}
	if b.stream, err = d.NewStream(); err != nil {
		return nil, err
	}
	if b.arena, err = d.NewArena(memory); err != nil {
		return nil, err
	}
	return b, b.data.load(b)
}

func (b *bench) close() {
	closeAlgorithms(b.device)
	b.data.close()
	b.arena.Close()
	b.stream.Close()
	b.device.Close()
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
