//go:build cuda

package links

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore/cuda/driver"
)

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
	return &trip{near: near, far: b.far, close: s.close, note: note, move: func(ctx context.Context, d Direction) error {
		if d == In {
			return s.in(ctx, near)
		}
		return s.out(ctx, near)
	}}, nil
}

// in copies near to the device through alternating buffers.
func (s *staging) in(ctx context.Context, near []byte) error {
	for k, part := range partsOf(near, s.host[0].Size()) {
		if err := reached(ctx, s.done[k%2]); err != nil {
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
func (s *staging) out(ctx context.Context, near []byte) error {
	var before []byte // the part that the last queued copy brings
	for k, part := range partsOf(near, s.host[0].Size()) {
		if err := s.cross(k, Out, s.host[k%2].Bytes()[:len(part)]); err != nil {
			return err
		}
		if err := s.take(ctx, k-1, before); err != nil {
			return err
		}
		before = part
	}
	last := (int64(len(near)) - 1) / s.host[0].Size()
	return s.take(ctx, int(last), before)
}

// cross queues the copy of the k-th part.
func (s *staging) cross(k int, d Direction, buffer []byte) error {
	far := s.b.far + driver.Ptr(int64(k)*s.host[0].Size())
	if err := s.b.copy(d, far, buffer); err != nil {
		return err
	}
	return s.b.stream.Record(s.done[k%2])
}

// take waits for the k-th part and copies it out of its buffer.
func (s *staging) take(ctx context.Context, k int, part []byte) error {
	if part == nil {
		return nil
	}
	if err := reached(ctx, s.done[k%2]); err != nil {
		return err
	}
	s.copy(part, s.host[k%2].Bytes())
	return nil
}

func (s *staging) copy(to, from []byte) {
	inThreads(len(to), s.b.Threads, func(low, high int) { copy(to[low:high], from[low:high]) })
}

func (s *staging) close() error {
	var errs []error
	for i := range s.host {
		if s.host[i] != nil {
			errs = append(errs, s.host[i].Free())
		}
		if s.done[i] != nil {
			errs = append(errs, s.done[i].Close())
		}
	}
	return errors.Join(errs...)
}
