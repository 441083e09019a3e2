//go:build cuda

package driver

import "unsafe"

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
	if len(from) == 0 {
		return
	}
	b.to = append(b.to, uint64(to))
	b.from = append(b.from, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(from)))))
	b.bytes = append(b.bytes, uint64(len(from)))
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
