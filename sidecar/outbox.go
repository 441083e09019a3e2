package sidecar

import (
	"errors"
	"sync"
	"time"

	"gpujoin/shm"
	"gpujoin/sidecar/memory"

	"golang.org/x/sys/unix"
)

// outbox sends frames to one peer. send never waits: what the socket does not
// take at once is queued, and a goroutine drains the queue as the peer reads.
// Extents whose descriptors wait in the queue are held, so that a descriptor
// is never sent after it was closed.
type outbox struct {
	conn  *shm.Conn
	trace *Tracer
	id    uint64 // of the session, for the trace

	mu      sync.Mutex
	idle    sync.Cond // the queue is empty or the outbox closed
	queue   []frameOut
	closed  bool
	drained sync.WaitGroup
}

type frameOut struct {
	bytes   []byte
	extents []*memory.Extent
}

// maxQueued is how many frames may wait before the session stops reading
// requests that cause more.
const maxQueued = 64

func newOutbox(conn *shm.Conn, trace *Tracer, id uint64) *outbox {
	o := &outbox{conn: conn, trace: trace, id: id}
	o.idle.L = &o.mu
	return o
}

// send sends one frame with the descriptors of extents. Errors end the
// connection, so that the session sees its end of file.
func (o *outbox) send(frame []byte, extents ...*memory.Extent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.trace.record(o.id, true, frame)
	if len(o.queue) == 0 {
		n, err := o.conn.WriteNow(frame, descriptors(extents))
		if err != nil && !tooManyInFlight(err) {
			o.broken()
			return
		}
		if n == len(frame) {
			return
		}
		if n > 0 {
			frame, extents = frame[n:], nil
		}
	}
	for _, e := range extents {
		e.Retain()
	}
	o.queue = append(o.queue, frameOut{append([]byte(nil), frame...), append([]*memory.Extent(nil), extents...)})
	if len(o.queue) == 1 {
		o.drained.Add(1)
		go o.drain()
	}
}

// tooManyInFlight says that peers have not yet received so many descriptors
// that the kernel lets this user send no more. Nothing was sent.
func tooManyInFlight(err error) bool { return errors.Is(err, unix.ETOOMANYREFS) }

// broken ends a connection that cannot be written to. The caller has locked o.
func (o *outbox) broken() {
	o.closed = true
	o.idle.Broadcast()
	_ = o.conn.Sock().CloseRead() // wakes the reader; the peer may be gone
}

func descriptors(extents []*memory.Extent) []int {
	if len(extents) == 0 {
		return nil
	}
	fds := make([]int, len(extents))
	for i, e := range extents {
		fds[i] = e.FD
	}
	return fds
}

// drain writes the queue until it is empty or writing fails.
func (o *outbox) drain() {
	defer o.drained.Done()
	o.mu.Lock()
	for len(o.queue) > 0 {
		f := o.queue[0]
		o.mu.Unlock()
		err := o.conn.Write(f.bytes, descriptors(f.extents))
		if tooManyInFlight(err) {
			time.Sleep(5 * time.Millisecond)
			o.mu.Lock()
			if !o.closed {
				continue
			}
		} else {
			o.mu.Lock()
		}
		if err != nil {
			o.broken()
		}
		o.pop()
		if o.closed {
			for len(o.queue) > 0 {
				o.pop()
			}
		}
	}
	o.queue = nil
	o.idle.Broadcast()
	o.mu.Unlock()
}

// pop drops the head of the queue. The caller has locked o.
func (o *outbox) pop() {
	for _, e := range o.queue[0].extents {
		e.Release()
	}
	o.queue[0] = frameOut{}
	o.queue = o.queue[1:]
}

// throttle waits while too many frames wait for the peer to read.
func (o *outbox) throttle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > maxQueued && !o.closed {
		o.idle.Wait()
	}
}

// flush gives the peer a moment to read what is queued.
func (o *outbox) flush(patience time.Duration) error {
	if err := o.conn.Sock().SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	o.drained.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return errors.New("the peer does not read")
	}
	return nil
}

// close ends sending. The connection must be closed before, so that a drain
// under way returns.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.idle.Broadcast()
	o.mu.Unlock()
	o.drained.Wait()
}
