//go:build cuda

package links

import (
	"context"
	"fmt"
	"time"

	"gpujoin/joincore/cuda/driver"
)

// trip is a method made ready for a number of bytes.
type trip struct {
	near []byte     // the host's side
	far  driver.Ptr // the device's side
	// move transfers everything and returns when it has arrived.
	move func(context.Context, Direction) error
	// back returns migrating memory to the host before each move; nil: near and far are
	// separate memory.
	back  func(context.Context) error
	close func() error // releases the trip's resources, which must be idle
	note  string
}

func closeNothing() error { return nil }

// ready prepares a method for n bytes.
func (b *bench) ready(m Method, n int64) (*trip, error) {
	switch m {
	case Pageable:
		return b.copies(b.near[:n], closeNothing, ""), nil
	case Staged:
		return b.staged(n)
	case Dynamic:
		return b.dynamic(n)
	case Pinned, ZeroCopy:
		return b.registered(m, n)
	case Coherence:
		note := ""
		if !b.platform.HostPageTables {
			note = "pages may migrate"
		}
		return b.pulls(b.near[:n], Address(b.near), closeNothing, note), nil
	case Prefetch, Migration:
		return b.unified(m, n)
	}
	return nil, fmt.Errorf("unknown method %q", m)
}

// copies returns a trip by copy engines or the driver.
func (b *bench) copies(near []byte, end func() error, note string) *trip {
	return &trip{near: near, far: b.far, close: end, note: note, move: func(ctx context.Context, d Direction) error {
		if err := b.copy(d, b.far, near); err != nil {
			return err
		}
		return b.finish(ctx)
	}}
}

// pulls returns a trip by threads of the device.
func (b *bench) pulls(near []byte, seen driver.Ptr, end func() error, note string) *trip {
	return &trip{near: near, far: b.far, close: end, note: note, move: func(ctx context.Context, d Direction) error {
		if err := b.pull(d, b.far, seen, int64(len(near))); err != nil {
			return err
		}
		return b.finish(ctx)
	}}
}

// registered page-locks the memory once, as the provider does with extents.
func (b *bench) registered(m Method, n int64) (*trip, error) {
	near := b.near[:n]
	start := time.Now()
	r, err := b.device.Register(near)
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf("registered once in %.1f ms", milliseconds(time.Since(start)))
	if m == ZeroCopy {
		return b.pulls(near, r.DevicePointer(), r.Close, note), nil
	}
	return b.copies(near, r.Close, note), nil
}

// unified allocates managed memory. Device threads copy it, or only its pages migrate.
func (b *bench) unified(m Method, n int64) (*trip, error) {
	managed, err := b.device.Managed(n)
	if err != nil {
		return nil, err
	}
	t := b.pulls(managed.Bytes(), managed.DevicePointer(), managed.Free, "")
	t.back = func(ctx context.Context) error {
		if err := managed.ToHost(b.stream); err != nil {
			return err
		}
		return b.stream.Sync(ctx)
	}
	if m == Prefetch {
		t.far = managed.DevicePointer()
		t.move = func(ctx context.Context, _ Direction) error {
			if err := managed.ToDevice(b.stream); err != nil {
				return err
			}
			return b.finish(ctx)
		}
	}
	return t, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
