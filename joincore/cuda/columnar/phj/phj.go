//go:build cuda

package phj

import (
	"context"
	"errors"
	"fmt"

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
		st, err := states.Get(d)
		if err != nil {
			return nil, err
		}
		r := &run{Job: b, state: st, options: o, bits: o.Bits}
		if o.Bits == 0 {
			r.bits = -1
		}
		// A filter replaces the probe side, and a larger result the expected one.
		own := *j
		b.Join, b.Sides = &own, [2]*columnar.Side{&own.Build, &own.Probe}
		b.ReadBack = columnar.PhaseReadBack
		return r.run(ctx)
	})
}
