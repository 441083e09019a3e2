//go:build cuda

package driver

import (
	"context"
	"errors"
	"time"
	"unsafe"

	"gorgonia.org/cu"
)

// Ptr is an address in device memory, or the device's address of host memory.
type Ptr uint64

// Stream is an in-order queue of work on a device. Its methods queue work and return;
// only Sync and Close wait. One goroutine uses it at a time.
type Stream struct {
	c      *Context
	stream cu.Stream
	done   *Event // recorded by Sync
	point  *Event // recorded by Then
}

// NewStream creates a stream that does not synchronise with the default stream.
func (c *Context) NewStream() (*Stream, error) {
	s := &Stream{c: c}
	err := c.with("cuStreamCreate", func() (err error) {
		s.stream, err = cu.MakeStream(cu.NonBlocking)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, e := range []**Event{&s.done, &s.point} {
		if *e, err = c.NewEvent(false); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Context returns the stream's context.
func (s *Stream) Context() *Context { return s.c }

// Device returns the number of the device that the stream works on.
func (s *Stream) Device() int { return s.c.info.Ordinal }

// some calls a function of the driver, unless it is for 0 bytes.
func (s *Stream) some(bytes int64, call string, f func() error) error {
	if bytes == 0 {
		return nil
	}
	return s.c.with(call, f)
}

// Memset queues a fill of n bytes.
func (s *Stream) Memset(p Ptr, value byte, n int64) error {
	return s.some(n, "cuMemsetD8Async", func() error {
		return cu.MemsetD8Async(cu.DevicePtr(p), value, n, s.stream)
	})
}

// CopyIn queues a copy of page-locked host memory to the device.
func (s *Stream) CopyIn(to Ptr, from []byte) error {
	return s.some(int64(len(from)), "cuMemcpyHtoDAsync", func() error {
		return cu.MemcpyHtoDAsync(cu.DevicePtr(to), unsafe.Pointer(unsafe.SliceData(from)), int64(len(from)), s.stream)
	})
}

// CopyOut queues a copy of device memory to page-locked host memory.
func (s *Stream) CopyOut(to []byte, from Ptr) error {
	return s.some(int64(len(to)), "cuMemcpyDtoHAsync", func() error {
		return cu.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(to)), cu.DevicePtr(from), int64(len(to)), s.stream)
	})
}

// Copy queues a copy of n bytes within the device.
func (s *Stream) Copy(to, from Ptr, n int64) error {
	return s.some(n, "cuMemcpyDtoDAsync", func() error {
		return cu.MemcpyDtoDAsync(cu.DevicePtr(to), cu.DevicePtr(from), n, s.stream)
	})
}

// Span is bytes to copy from one address to another.
type Span struct {
	To, From Ptr
	Bytes    uint64
}

// Copies queues copies within the device, or to devices that it reaches, and sets e to the
// point behind them, with one call of the driver's library for all. Also if it returns an
// error, e follows those that are queued.
func (s *Stream) Copies(list []Span, e *Event) error {
	return s.c.note(copies(s.c.ctx, s.stream, list, e.event))
}

// Then makes later work of another stream wait for all work queued here so far.
func (s *Stream) Then(later *Stream) error {
	if err := s.Record(s.point); err != nil {
		return err
	}
	return later.Wait(s.point)
}

// CopyPeer queues a copy of n bytes from another device.
func (s *Stream) CopyPeer(to Ptr, from Ptr, device *Context, n int64) error {
	return s.some(n, "cuMemcpyPeerAsync", func() error {
		return cu.MemcpyPeerAsync(cu.DevicePtr(to), s.c.ctx, cu.DevicePtr(from), device.ctx, n, s.stream)
	})
}

// Push queues a copy of n bytes to another device, which need not be reachable: the driver
// then copies through host memory.
func (s *Stream) Push(to Ptr, device *Context, from Ptr, n int64) error {
	return s.some(n, "cuMemcpyPeerAsync", func() error {
		return cu.MemcpyPeerAsync(cu.DevicePtr(to), device.ctx, cu.DevicePtr(from), s.c.ctx, n, s.stream)
	})
}

// Record sets e to the current end of the stream's queue.
func (s *Stream) Record(e *Event) error {
	return s.c.with("cuEventRecord", func() error { return e.event.Record(s.stream) })
}

// Wait makes later work of the stream wait for e as last recorded.
func (s *Stream) Wait(e *Event) error {
	return s.c.with("cuStreamWaitEvent", func() error { return s.stream.Wait(e.event, 0) })
}

// Sync waits until all queued work is done and returns the error of work that failed
// on the device. If ctx ends first it returns ctx's cause; the work continues, and its
// memory stays in use until a later Sync has waited for it.
func (s *Stream) Sync(ctx context.Context) error { return s.SyncSpinning(ctx, SpinFor) }

// SyncSpinning is Sync that does not leave the processor for the given time.
func (s *Stream) SyncSpinning(ctx context.Context, spin time.Duration) error {
	if err := s.Record(s.done); err != nil {
		return err
	}
	return s.done.SyncSpinning(ctx, spin)
}

// Failed returns the error of work that failed on the device, without waiting; nil as long
// as none has.
func (s *Stream) Failed() error {
	code := streamQuery(s.c.ctx, s.stream)
	if code == 0 || code == codeNotReady {
		return nil
	}
	return s.c.note(failure("cuStreamQuery", code))
}

// Close waits for the stream's work and frees the stream, if it is not nil.
func (s *Stream) Close() error {
	if s == nil {
		return nil
	}
	return errors.Join(
		s.c.with("cuStreamSynchronize", func() error { return s.stream.Synchronize() }),
		s.done.Close(), s.point.Close(),
		s.c.with("cuStreamDestroy", func() error { return s.stream.Destroy() }))
}

// Batch is copies to the device, of page-locked host memory or of device memory, that are
// queued with one call.
// A copy engine pauses for some microseconds between two copies of a stream, but not
// between those of a batch: in pieces of 1 MiB, a link carries a sixth more. The zero value
// is empty; one goroutine uses it at a time.
type Batch struct{ to, from, bytes []uint64 }

// BatchCopies is the most copies that a batch should have: enough to hide what a call
// takes, few enough that the first ones begin early.
const BatchCopies = 64

// Add adds a copy. The memory must not change, nor go, until the stream that Queue gets
// has been synchronised.
func (b *Batch) Add(to Ptr, from []byte) {
	b.AddDevice(to, Ptr(uintptr(unsafe.Pointer(unsafe.SliceData(from)))), int64(len(from)))
}

// AddDevice adds a copy of n bytes within the device, or from one whose memory is mapped for
// it. Add says how long the memory must not change.
func (b *Batch) AddDevice(to, from Ptr, n int64) {
	if n == 0 {
		return
	}
	b.to, b.from, b.bytes = append(b.to, uint64(to)), append(b.from, uint64(from)), append(b.bytes, uint64(n))
}

// Len returns the number of copies.
func (b *Batch) Len() int { return len(b.to) }

// Queue queues the copies, which may run in any order, and empties the batch.
func (b *Batch) Queue(s *Stream) error {
	if len(b.to) == 0 {
		return nil
	}
	err := copyBatch(s.c.ctx, s.stream, b.to, b.from, b.bytes)
	b.to, b.from, b.bytes = b.to[:0], b.from[:0], b.bytes[:0]
	return s.c.note(err)
}
