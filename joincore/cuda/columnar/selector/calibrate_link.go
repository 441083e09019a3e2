//go:build cuda

package selector

import (
	"context"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/driver"
)

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
