//go:build cuda

package selector

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/driver"
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
	switch t.how {
	case "smj-um":
		return columnar.SMJUM
	case "smj-om":
		return columnar.SMJOM
	case "npj":
		return columnar.NPJ
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
