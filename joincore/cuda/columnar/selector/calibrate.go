//go:build cuda

package selector

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// bytesARow is the device memory, in bytes, for one build row and its two probe
// rows: columns, passes and results.
const bytesARow = 420

// repeats is the number of runs of each join. The fastest counts, because
// disturbances only slow a run down.
const repeats = 3

// Measure returns the device's rates. Nothing else may run on the device. Errors:
// ErrBudget if the arena is too small, errors of joins, and an error if the measured
// values cannot be rates.
func Measure(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena) (costmodel.DeviceRates, error) {
	r := costmodel.DefaultDeviceRates
	r.CacheMB = float64(d.Info().L2) * cacheShare / 1e6
	n := int64(mostTrialRows)
	for n >= leastTrialRows && n*bytesARow > a.Free() {
		n /= 2
	}
	if n < leastTrialRows {
		return r, fmt.Errorf("%d bytes are too little memory to measure the device: %w", a.Free(), joincore.ErrBudget)
	}
	mark := a.Mark()
	defer a.Rewind(mark)
	observed, err := measureTrials(ctx, d, s, a, n)
	if err != nil {
		return r, errors.Join(err, s.Sync(context.WithoutCancel(ctx)))
	}
	r.Fit(observed)
	if err := measureLink(ctx, d, s, a, &r); err != nil {
		return r, err
	}
	return r, r.Check()
}

// cacheShare is the fraction of the cache that holds gathered values; the rest is
// taken by other data that passes through it.
const cacheShare = 0.8

func measureTrials(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, n int64) ([]costmodel.Observation, error) {
	x, err := newTrialData(d, s, a, [2]int64{n, 2 * n})
	if x != nil {
		defer x.close()
	}
	if err != nil {
		return nil, err
	}
	var observed []costmodel.Observation
	for _, t := range trials(n) {
		list, err := t.run(ctx, d, x)
		if err != nil {
			return nil, fmt.Errorf("%s of %d and %d rows: %w", t.how, t.build, t.probe, err)
		}
		observed = append(observed, list...)
	}
	return observed, nil
}

// run runs the trial and returns its observations.
func (t *trial) run(ctx context.Context, d *driver.Context, x *trialData) ([]costmodel.Observation, error) {
	bottom := x.arena.Mark()
	defer x.arena.Rewind(bottom)
	distinct := t.build
	if t.distinct > 0 {
		distinct = t.distinct
	}
	join := columnar.Join{OutputRows: t.results(), Phases: true}
	var err error
	if join.Build, err = x.side(buildSide, t.build, t.key, distinct, 0, t.widths[0]); err != nil {
		return nil, err
	}
	if err := x.stream.Sync(ctx); err != nil { // before the descriptor's memory is reused
		return nil, err
	}
	if join.Probe, err = x.side(probeSide, t.probe, t.key, t.domain, t.zipf, t.widths[1]); err != nil {
		return nil, err
	}
	if err := x.stream.Sync(ctx); err != nil {
		return nil, err
	}
	run := t.function()
	least := map[string]float64{}
	mark := x.arena.Mark()
	for range repeats {
		x.arena.Rewind(mark)
		_, report, err := run(ctx, d, x.stream, x.arena, &join)
		if err != nil {
			return nil, err
		}
		for phase, ms := range reportedPhases(report) {
			if before, ok := least[phase]; !ok || ms < before {
				least[phase] = ms
			}
		}
	}
	return t.observations(least), nil
}

// function returns the join algorithm.
func (t *trial) function() columnar.Func {
	if a, ok := joincore.ParseAlgorithm(t.how); ok && algorithms[a] != nil {
		return algorithms[a]
	}
	options := phj.Options{Materialise: strings.TrimPrefix(t.how, "phj-")}
	if t.how == "bloom" {
		options = phj.Options{Materialise: "om", Bloom: "on"}
	}
	return func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
		return phj.Run(ctx, d, s, a, j, options)
	}
}

// reportedPhases returns the time of each phase, by the model's names, and of the whole join.
func reportedPhases(report *columnar.Report) map[string]float64 {
	ms := map[string]float64{wholeJoin: report.MS}
	for _, p := range report.Phases {
		ms[PhaseOf(p.Name)] += p.MS
	}
	return ms
}

// trialData makes columns in an arena. Payload values never matter, so payload columns
// have unspecified content.
type trialData struct {
	stream  *driver.Stream
	arena   *driver.Arena
	module  *driver.Module
	fill    *driver.Kernel
	host    *driver.Host // page-locked, for a one-column descriptor
	payload [2]driver.Ptr
}

const (
	describedBytes = 16
	fillBlocks     = 4096
)

// newTrialData takes memory for payload columns of the given number of rows per side.
func newTrialData(d *driver.Context, s *driver.Stream, a *driver.Arena, rows [2]int64) (*trialData, error) {
	m, err := d.Load(kernels.Data)
	if err != nil {
		return nil, err
	}
	x := &trialData{stream: s, arena: a, module: m}
	if x.fill, err = m.Kernel("data_fill"); err != nil {
		return x, err
	}
	if x.host, err = d.Pinned(describedBytes); err != nil {
		return x, err
	}
	for i, n := range rows {
		if x.payload[i], err = a.Take(n*mostTrialPayload + mostTrialColumns*driver.Line); err != nil {
			return x, err
		}
	}
	return x, nil
}

func (x *trialData) close() {
	_ = x.host.Free()
	_ = x.module.Unload()
}

// Numbers of the sides in data_fill.
const (
	buildSide = 0
	probeSide = 1
)

// side makes a side. Build keys enumerate the domain from its start; probe keys are
// drawn from it, uniformly or by a Zipf law with exponent zipf.
func (x *trialData) side(number int, rows int64, keyBytes int, domain int64, zipf float64, widths []int) (s columnar.Side, err error) {
	s = columnar.Side{Rows: rows, Key: columnar.Column{Bytes: keyBytes}}
	if s.Key.Addr, err = x.arena.Take(rows*int64(keyBytes) + driver.Line); err != nil {
		return s, err
	}
	described, err := x.arena.Take(describedBytes)
	if err != nil {
		return s, err
	}
	binary.LittleEndian.PutUint64(x.host.Bytes(), uint64(s.Key.Addr))
	binary.LittleEndian.PutUint64(x.host.Bytes()[8:], uint64(keyBytes))
	if err := x.stream.CopyIn(described, x.host.Bytes()); err != nil {
		return s, err
	}
	factor := uint64(0)
	if zipf > 0 {
		factor = math.Float64bits(zipf)
	}
	if err := x.fill.Launch(x.stream, fillBlocks, uint64(number), uint64(rows), uint64(described), 1, uint64(domain), factor, 0, 0); err != nil {
		return s, err
	}
	at := x.payload[number]
	for _, w := range widths {
		s.Payload = append(s.Payload, columnar.Column{Addr: at, Bytes: w})
		at += driver.Ptr(driver.Lines(rows * int64(w)))
	}
	return s, nil
}

// linkBytes is the size of the copies: the smallest window of an input.
const linkBytes = 32 << 20

// measureLink measures the rates of copies from and to page-locked host memory.
func measureLink(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, r *costmodel.DeviceRates) error {
	host, err := d.Pinned(linkBytes)
	if err != nil {
		return err
	}
	defer host.Free()
	at, err := a.Take(linkBytes)
	if err != nil {
		return err
	}
	clear(host.Bytes()) // faults all pages in
	var events [2]*driver.Event
	for i := range events {
		if events[i], err = d.NewEvent(true); err != nil {
			return err
		}
		defer events[i].Close()
	}
	crossing := func(copy func() error) (ms float64, err error) {
		// Timed by the device's clock, because a waiting host wakes up late.
		for _, queue := range []func() error{
			func() error { return s.Record(events[0]) }, copy,
			func() error { return s.Record(events[1]) }, func() error { return s.Sync(ctx) },
		} {
			if err := queue(); err != nil {
				return 0, err
			}
		}
		return events[1].Since(events[0])
	}
	if r.LinkInGB, err = fastestCopy(func() (float64, error) {
		return crossing(func() error { return s.CopyIn(at, host.Bytes()) })
	}); err != nil {
		return err
	}
	r.LinkOutGB, err = fastestCopy(func() (float64, error) {
		return crossing(func() error { return s.CopyOut(host.Bytes(), at) })
	})
	return err
}

// fastestCopy returns the highest rate, in GB/s, of a few copies of linkBytes; copy
// returns the ms that it took.
func fastestCopy(copy func() (ms float64, err error)) (gb float64, err error) {
	for range repeats {
		ms, err := copy()
		if err != nil {
			return 0, err
		}
		gb = max(gb, linkBytes/(ms*1e6))
	}
	return gb, nil
}
