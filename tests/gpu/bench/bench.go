//go:build cuda

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gpujoin/joincore/cuda/columnar/selector"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/tests/columndata"
)

// bench is a device with an arena.
type bench struct {
	device  *driver.Context
	stream  *driver.Stream
	arena   *driver.Arena
	data    *columndata.Data
	repeats int
	phases  bool
	// specialise: kernels are compiled for the programs of aggregates.
	specialise bool
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
	b.data, err = columndata.Load(b.device, b.stream, b.arena)
	return b, err
}

func (b *bench) close() {
	if err := b.data.Close(); err != nil {
		fmt.Println(err)
	}
	b.arena.Close()
	b.stream.Close()
	b.device.Close()
}

// describe returns the circumstances of the measurement.
func (b *bench) describe() string {
	info := b.device.Info()
	return fmt.Sprintf("%s, CUDA %d.%d, %d multiprocessors; medians of %d", info.Name, info.Driver/1000, info.Driver%1000/10, info.SMs, b.repeats)
}

// measure sets the model's rates to those of this device.
func (b *bench) measure(ctx context.Context) error {
	start := time.Now()
	rates, err := selector.Measure(ctx, b.device, b.stream, b.arena)
	if err != nil {
		return err
	}
	took := time.Since(start)
	text, err := json.Marshal(rates)
	if err != nil {
		return err
	}
	fmt.Printf("measured in %v: %s\n", took.Round(time.Millisecond), text)
	selector.Use(b.device, rates)
	return nil
}

// timeAll times every algorithm on all cases and on sequences of 1 to
// `sequences` joins, and prints each result. A wrong result is an error.
func (b *bench) timeAll(ctx context.Context, list []join, algorithms []algorithm, sequences int) (results []result, err error) {
	add := func(r result, err error) result {
		if err != nil {
			r.wrong = err.Error()
		}
		r.print()
		results = append(results, r)
		return r
	}
	byName := map[[2]string]result{}
	header()
	for _, c := range list {
		if err := b.data.Make(ctx, c.Case); err != nil {
			return results, fmt.Errorf("%s: %w", c.name, err)
		}
		for _, a := range algorithms {
			byName[[2]string{c.name, a.name}] = add(b.time(ctx, c, a))
		}
	}
	judgePayloads(list, results)
	if err := printPeaks(list, byName); err != nil {
		return results, err
	}
	for n := 1; n <= sequences; n++ {
		for _, a := range algorithms {
			add(b.sequence(ctx, n, a))
		}
	}
	return results, nil
}
