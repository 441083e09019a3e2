//go:build cuda

package phj

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	// there, "bypass" is om with hot keys sampled and joined apart; "": by
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

// maxRows is the most rows of a side: rows are numbered in 32 bits, with room
// for the padding of partitions.
const maxRows = 1<<32 - 1<<20

// Run joins with options. Errors are those of columnar.Func, and others where
// the join is not one that these kernels can do.
func Run(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join, o Options) (*columnar.Output, *columnar.Report, error) {
	start := time.Now()
	if err := check(j); err != nil {
		return nil, nil, err
	}
	switch o.Materialise {
	case "", "om", "um", "place", "bypass":
	default:
		return nil, nil, fmt.Errorf("phj: payload cannot be materialised by %q", o.Materialise)
	}
	switch o.Bloom {
	case "", bloomOn, bloomOff:
	default:
		return nil, nil, fmt.Errorf("phj: a filter cannot be %q", o.Bloom)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	st, err := states.Get(d)
	if err != nil {
		return nil, nil, err
	}
	b, err := st.take()
	if err != nil {
		return nil, nil, err
	}
	own := *j
	r := &run{state: st, scratch: b, stream: s, arena: a, join: &own, options: o, bits: o.Bits}
	if o.Bits == 0 {
		r.bits = -1
	}
	out, err := r.run(ctx)
	// Also a join that failed half-way has left work behind that uses scratch and arena.
	if err != nil {
		if e := s.Sync(context.WithoutCancel(ctx)); e != nil {
			return nil, nil, errors.Join(err, e)
		}
	}
	st.give(b)
	if err != nil {
		return nil, nil, err
	}
	r.report.WallMS = float64(time.Since(start)) / float64(time.Millisecond)
	return out, &r.report, nil
}

// vectorBytes is what the histogram reads keys by.
const vectorBytes = 16

func check(j *columnar.Join) error {
	key := j.Build.Key.Bytes
	if key != j.Probe.Key.Bytes || key != 4 && key != 8 {
		return fmt.Errorf("phj: keys of %d and %d bytes", key, j.Probe.Key.Bytes)
	}
	for _, side := range []*columnar.Side{&j.Build, &j.Probe} {
		if side.Key.Addr%vectorBytes != 0 {
			return fmt.Errorf("phj: keys at %#x are not at a multiple of %d", side.Key.Addr, vectorBytes)
		}
		if side.Rows < 0 || side.Rows >= maxRows {
			return fmt.Errorf("phj: %d rows are more than row ids can address", side.Rows)
		}
		for _, c := range side.Payload {
			switch c.Bytes {
			case 1, 2, 4, 8, 16:
			default:
				return fmt.Errorf("phj: values of %d bytes", c.Bytes)
			}
			if c.Addr%driver.Ptr(c.Bytes) != 0 {
				return fmt.Errorf("phj: values of %d bytes at %#x", c.Bytes, c.Addr)
			}
		}
	}
	return nil
}
