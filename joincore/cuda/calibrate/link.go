//go:build cuda

package calibrate

import (
	"context"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/driver"
)

// linkBytes is what is copied: what a window of an input is at least.
const linkBytes = 32 << 20

// link measures the link from and to page-locked host memory.
func link(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, r *costmodel.DeviceRates) error {
	host, err := d.Pinned(linkBytes)
	if err != nil {
		return err
	}
	defer host.Free()
	at, err := a.Take(linkBytes)
	if err != nil {
		return err
	}
	clear(host.Bytes()) // so that all of it is there
	var events [2]*driver.Event
	for i := range events {
		if events[i], err = d.NewEvent(true); err != nil {
			return err
		}
		defer events[i].Close()
	}
	crossing := func(copy func() error) (ms float64, err error) {
		// By the device's clock: a host that waits wakes too late.
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
	if r.LinkInGB, err = fastest(func() (float64, error) {
		return crossing(func() error { return s.CopyIn(at, host.Bytes()) })
	}); err != nil {
		return err
	}
	r.LinkOutGB, err = fastest(func() (float64, error) {
		return crossing(func() error { return s.CopyOut(host.Bytes(), at) })
	})
	return err
}

// fastest returns the GB/s of the fastest of a few copies of linkBytes, of which
// each returns its ms.
func fastest(copy func() (ms float64, err error)) (gb float64, err error) {
	for range times {
		ms, err := copy()
		if err != nil {
			return 0, err
		}
		gb = max(gb, linkBytes/(ms*1e6))
	}
	return gb, nil
}
