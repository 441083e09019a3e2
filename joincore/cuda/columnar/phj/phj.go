//go:build cuda

package phj

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
)

// OM moves payload with the key. A side that is too wide to be carried goes by
// row id.
func OM(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
	return Run(ctx, d, s, a, j, Options{Materialise: "om"})
}

// UM moves row numbers and gathers payload when it writes the result.
func UM(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
	return Run(ctx, d, s, a, j, Options{Materialise: "um"})
}

// Options are decisions taken from the algorithm.
type Options struct {
	// Materialise: "om" carries payload, "um" fetches it by row number,
	// "place" has the probe side's moved by the first pass and fetched from
	// there, "pack" has both sides' packed, "bypass" is om with hot keys sampled and joined apart; "": by
	// sampling.
	Materialise string
	Bits        int  // hash bits to partition by; 0: as many as the match wants
	Sample      bool // however small the join is, where a sample decides
	Few         bool // most probe rows have no match, whether or not a sample is taken
	// Bloom says whether the probe rows that a Bloom filter of the build keys
	// rules out are dropped before anything is moved: "on", "off"; "": where a
	// sample decides, and says that it pays. Joins for row numbers have none.
	Bloom string
	// Rates are the device's; nil: defaults.
	Rates *costmodel.DeviceRates
	// Elsewhere is told what a sample says of the join, and returns whether
	// another algorithm is to do it: then Run returns ErrElsewhere. nil: none.
	Elsewhere func(costmodel.Resident) bool
}

// ErrElsewhere: a join that was sampled, and goes to another algorithm.
var ErrElsewhere = errors.New("phj: a different algorithm was selected")

func (o *Options) rates() *costmodel.DeviceRates {
	if o.Rates == nil {
		return &costmodel.DefaultDeviceRates
	}
	return o.Rates
}

// Run joins with options. Errors are those of columnar.Func, and others where
// the join is not one that these kernels can do.
func Run(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join, o Options) (*columnar.Output, *columnar.Report, error) {
	switch o.Materialise {
	case "", "om", "um", "place", "pack", "bypass":
	default:
		return nil, nil, fmt.Errorf("phj: payload cannot be materialised by %q", o.Materialise)
	}
	switch o.Bloom {
	case "", bloomOn, bloomOff:
	default:
		return nil, nil, fmt.Errorf("phj: a filter cannot be %q", o.Bloom)
	}
	return columnar.RunEarly(ctx, d, s, a, j, "phj", func(ctx context.Context, b *columnar.Job) (*columnar.Output, error) {
		r, err := newRun(d, b, o)
		if err != nil {
			return nil, err
		}
		if r.bits = o.Bits; o.Bits == 0 {
			r.bits = -1
		}
		return r.run(ctx)
	})
}

// newRun returns a job's join, without its plan.
func newRun(d *driver.Context, b *columnar.Job, o Options) (*run, error) {
	st, err := states.Get(d)
	if err != nil {
		return nil, err
	}
	own := *b.Join // a filter replaces the probe side, and a larger result the expected one
	b.Join, b.Sides = &own, [2]*columnar.Side{&own.Build, &own.Probe}
	b.ReadBack = columnar.PhaseReadBack
	r := &run{Job: b, state: st, options: o, modes: o.modes(), keyWords: own.Build.Key.Bytes / 4, given: own.Probe}
	if !own.RowIDs {
		r.widths = [2][]int{columnar.Widths(own.Build.Payload), columnar.Widths(own.Probe.Payload)}
	}
	return r, nil
}

// run is one join on its way.
type run struct {
	*columnar.Job
	state   *state
	options Options

	widths   [2][]int // of the payload that the result has; none for row numbers
	keyWords int
	bits     int
	modes    [2]mode
	shapes   [2]shape
	kernels  joinKernels
	bypass   *bypass       // hot keys go round the partitions; nil: none do
	shared   bool          // rows may come from other devices, whose passes send fields as they are
	bloom    bool          // the probe side is what a Bloom filter leaves of it, or will be
	given    columnar.Side // the probe side as it was given

	d          joinDescriptor
	stripes    [2]uint64 // addresses of packed sides' stripes, and their rows
	stripeRows [2]uint64
	// positions are the addresses to which the match writes packed sides' positions.
	positions [2]uint64
	fields    []field
	packed    []packedField
	tables    tables
	output    output
	counted   uint64 // the sides whose keys are counted
	sampled   summary
	cold      int64 // probe rows that were not bypassed
}

// run queues the join, waits for it and returns its result.
func (r *run) run(ctx context.Context) (*columnar.Output, error) {
	r.bloom = r.options.Bloom == bloomOn && r.reducible()
	if err := r.plan(); err != nil {
		return nil, err
	}
	if err := r.takeTables(); err != nil {
		return nil, err
	}
	r.Begin()
	if r.sampling() {
		if err := r.sample(ctx); err != nil {
			return nil, err
		}
	}
	if r.bloom {
		if err := r.reduce(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.partitionBoth(ctx); err != nil {
		return nil, err
	}
	r.matchAndClose()
	return r.result(ctx)
}

// result waits for the join, which is repeated if its result is larger than expected, and
// returns its result.
func (r *run) result(ctx context.Context) (*columnar.Output, error) {
	rows, err := r.finish(ctx)
	if err == nil && rows > r.output.rows {
		rows, err = r.again(ctx, rows)
	}
	if err != nil {
		return nil, err
	}
	return r.ended(rows), nil
}

// ended completes the report, and returns the result.
func (r *run) ended(rows int64) *columnar.Output {
	r.Report.Algorithm = r.name()
	r.Model(r.traffic())
	return r.output.result(rows)
}

// partitionBoth moves both sides into their partitions, hot keys round them
// where that was decided and there is memory for it.
func (r *run) partitionBoth(ctx context.Context) error {
	if r.bypass == nil {
		return r.partition()
	}
	err := r.Attempt(func() error { return r.partitionCold(ctx) })
	if errors.Is(err, joincore.ErrBudget) {
		return r.withoutBypass(r.Join.OutputRows)
	}
	return err
}

// withoutBypass restarts a join without its bypass, with the whole probe side
// and with memory for rows result rows.
func (r *run) withoutBypass(rows int64) error {
	r.bypass, r.bloom, r.modes = nil, false, [2]mode{carry, carry}
	r.Join.Probe, r.counted = r.given, 0
	if err := r.plan(); err != nil {
		return err
	}
	r.Rewind(r.tables.bottom)
	r.options.Materialise, r.Join.OutputRows = "om", rows
	if err := r.takeTables(); err != nil {
		return err
	}
	return r.partition()
}

// again matches once more, into room for the rows that the first time has
// counted: the partitions still lie there. A join with a bypass has nothing to
// begin from, since its result began before they were made.
func (r *run) again(ctx context.Context, rows int64) (int64, error) {
	if r.bypass != nil {
		if err := r.withoutBypass(rows); err != nil {
			return 0, err
		}
	} else {
		if err := r.takeOutput(rows); err != nil {
			return 0, err
		}
		r.copyIn()
		r.Set(r.d.Counters, 0, 8*counters)
	}
	r.matchAndClose()
	return r.finish(ctx)
}

// launch queues a kernel; each begins with the descriptor.
func (r *run) launch(k *driver.Kernel, grid int, args ...uint64) {
	r.Launch(k, grid, append([]uint64{r.tables.join}, args...)...)
}

// phase ends a phase. What it reads and writes is known when the join has ended.
func (r *run) phase(name string) { r.Phase(name, 0) }

// copyIn brings the descriptor and the fields to the device.
func (r *run) copyIn() {
	r.PutAt(r.tables.join, columnar.BytesOf([]joinDescriptor{r.d}), columnar.BytesOf(r.fields))
	r.PutAt(r.tables.packed, columnar.BytesOf(r.packed))
}

// finish waits for the join and returns its rows, also those that did not fit.
func (r *run) finish(ctx context.Context) (int64, error) {
	var words [counters]uint64
	err := r.Read(ctx, r.d.Counters, words[:])
	return int64(words[counterOutputRows]), err
}
