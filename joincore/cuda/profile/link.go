//go:build cuda

package profile

import (
	"context"
	"time"

	"gpujoin/joincore/choose"
	"gpujoin/joincore/cuda/driver"
)

// linkBytes is what is copied: what a window of an input is at least.
const linkBytes = 32 << 20

// link measures the link from and to page-locked host memory, and how fast
// other host memory gets into such.
func link(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, r *choose.DeviceRates) error {
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
	for _, c := range []struct {
		rate *float64
		copy func() error
	}{
		{&r.LinkInGB, func() error { return s.CopyIn(at, host.Bytes()) }},
		{&r.LinkOutGB, func() error { return s.CopyOut(host.Bytes(), at) }},
	} {
		if *c.rate, err = fastest(ctx, s, c.copy); err != nil {
			return err
		}
	}
	other := make([]byte, linkBytes)
	for i := range other {
		other[i] = byte(i)
	}
	staged, err := fastest(ctx, s, func() error { copy(host.Bytes(), other); return nil })
	r.StagedGB = min(staged, r.LinkInGB) // one half crosses the link while the other is filled
	return err
}

// fastest returns the GB/s of the fastest of a few copies of linkBytes.
func fastest(ctx context.Context, s *driver.Stream, copy func() error) (gb float64, err error) {
	for range times {
		start := time.Now()
		if err := copy(); err != nil {
			return 0, err
		}
		if err := s.Sync(ctx); err != nil {
			return 0, err
		}
		gb = max(gb, linkBytes/float64(time.Since(start)))
	}
	return gb, nil
}
