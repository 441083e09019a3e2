//go:build cuda

package links

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// queued returns a trip by one copy, which queue queues.
func (b *bench) queued(near []byte, end func() error, note string, queue func(Direction) error) *trip {
	return &trip{near: near, far: b.far, close: end, note: note, move: func(ctx context.Context, d Direction) error {
		if err := queue(d); err != nil {
			return err
		}
		return b.finish(ctx)
	}}
}

// copies returns a trip by copy engines or the driver.
func (b *bench) copies(near []byte, end func() error, note string) *trip {
	return b.queued(near, end, note, func(d Direction) error { return b.copy(d, b.far, near) })
}

// pulls returns a trip by threads of the device, for which the host's memory is at seen.
func (b *bench) pulls(near []byte, seen driver.Ptr, end func() error, note string) *trip {
	return b.queued(near, end, note, func(d Direction) error {
		to, from := b.far, seen
		if d == Out {
			to, from = from, to
		}
		return b.kernels.Move(b.stream, to, from, int64(len(near)))
	})
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
		if err := managed.ToHost(b.stream, n); err != nil {
			return err
		}
		return b.stream.Sync(ctx)
	}
	if m == Prefetch {
		t.far = managed.DevicePointer()
		t.move = func(ctx context.Context, _ Direction) error {
			if err := managed.ToDevice(b.stream, n); err != nil {
				return err
			}
			return b.finish(ctx)
		}
	}
	return t, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// staging is two page-locked buffers: threads fill or empty one of them while a copy
// engine uses the other.
type staging struct {
	b    *bench
	host [2]*driver.Host
	done [2]*driver.Event // the last copy of each buffer
}

func (b *bench) staged(n int64) (*trip, error) {
	s := &staging{b: b}
	for i := range s.host {
		var err error
		if s.host[i], err = b.device.Pinned(min(n, b.buffer)); err != nil {
			return nil, errors.Join(err, s.close())
		}
		if s.done[i], err = b.device.NewEvent(false); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	near := b.near[:n]
	note := fmt.Sprintf("%d threads, 2 buffers of %s", b.Threads, sizeText(s.host[0].Size()))
	parts := slices.Collect(slices.Chunk(near, int(s.host[0].Size())))
	return &trip{near: near, far: b.far, close: s.close, note: note, move: func(ctx context.Context, d Direction) error {
		if d == In {
			return s.in(ctx, parts)
		}
		return s.out(ctx, parts)
	}}, nil
}

// in copies parts to the device through alternating buffers.
func (s *staging) in(ctx context.Context, parts [][]byte) error {
	for k, part := range parts {
		if err := s.done[k%2].Spin(ctx); err != nil {
			return err
		}
		buffer := s.host[k%2].Bytes()[:len(part)]
		s.copy(buffer, part)
		if err := s.cross(k, In, buffer); err != nil {
			return err
		}
	}
	return s.b.finish(ctx)
}

// out empties one buffer while the next part is copied into the other.
func (s *staging) out(ctx context.Context, parts [][]byte) error {
	for k := range len(parts) + 1 {
		if k < len(parts) {
			if err := s.cross(k, Out, s.host[k%2].Bytes()[:len(parts[k])]); err != nil {
				return err
			}
		}
		if k > 0 {
			if err := s.done[(k-1)%2].Spin(ctx); err != nil {
				return err
			}
			s.copy(parts[k-1], s.host[(k-1)%2].Bytes())
		}
	}
	return nil
}

// cross queues the copy of the k-th part.
func (s *staging) cross(k int, d Direction, buffer []byte) error {
	far := s.b.far + driver.Ptr(int64(k)*s.host[0].Size())
	if err := s.b.copy(d, far, buffer); err != nil {
		return err
	}
	return s.b.stream.Record(s.done[k%2])
}

func (s *staging) copy(to, from []byte) {
	inThreads(len(to), s.b.Threads, func(low, high int) { copy(to[low:high], from[low:high]) })
}

func (s *staging) close() error {
	return errors.Join(s.host[0].Free(), s.done[0].Close(), s.host[1].Free(), s.done[1].Close())
}

// dynamic page-locks one piece while the previous one is copied, and unlocks it
// afterwards. It first tries one piece, to detect a refusal.
func (b *bench) dynamic(n int64) (*trip, error) {
	near := b.near[:n]
	first, err := b.device.Register(near[:min(n, b.piece)])
	if err != nil {
		return nil, err
	}
	if err := first.Close(); err != nil {
		return nil, err
	}
	note := fmt.Sprintf("pieces of %s", sizeText(min(n, b.piece)))
	return &trip{near: near, far: b.far, close: closeNothing, note: note, move: func(ctx context.Context, d Direction) (err error) {
		var before *driver.Registration
		defer func() {
			// A piece stays locked until no copy engine can still use it.
			err = errors.Join(err, b.letGo(context.WithoutCancel(ctx), before))
		}()
		far := b.far
		for part := range slices.Chunk(near, int(b.piece)) {
			r, err := b.device.Register(part)
			if err != nil {
				return err
			}
			before, err = r, b.letGo(ctx, before)
			if err != nil {
				return err
			}
			if err := b.copy(d, far, part); err != nil {
				return err
			}
			far += driver.Ptr(len(part))
		}
		return nil
	}}, nil
}

// letGo waits for all copies so far and unlocks a piece.
func (b *bench) letGo(ctx context.Context, r *driver.Registration) error {
	if r == nil {
		return nil
	}
	return errors.Join(b.finish(ctx), r.Close())
}
