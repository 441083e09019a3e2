package source

import (
	"encoding/binary"
	"sync"
)

// queue holds frames of a stream between the goroutine that reads the connection and the
// one that applies them. It is bounded in bytes: a full one stops the reader, and so, by
// TCP's window, the source's sender. A frame longer than the bound passes alone.
type queue struct {
	limit int
	ready chan struct{} // of capacity 1: something was put, or the queue failed

	mu      sync.Mutex
	room    *sync.Cond
	pending []byte // frames, each after its length in 4 bytes
	err     error  // no frame follows
	closed  bool
	full    bool // put waits
}

func newQueue(limit int) *queue {
	q := &queue{limit: limit, ready: make(chan struct{}, 1)}
	q.room = sync.NewCond(&q.mu)
	return q
}

// put adds a frame, and waits until there is room. ok: the queue is open.
func (q *queue) put(frame []byte) (ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.pending) > 0 && len(q.pending)+4+len(frame) > q.limit && !q.closed {
		q.full = true
		q.room.Wait()
	}
	q.full = false
	if q.closed {
		return false
	}
	q.pending = binary.LittleEndian.AppendUint32(q.pending, uint32(len(frame)))
	q.pending = append(q.pending, frame...)
	q.signal()
	return true
}

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// fail says that no frame follows, and why.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	q.signal()
}

// close releases a put that waits.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.room.Broadcast()
}

// waits reports whether the reader waits for room.
func (q *queue) waits() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.full
}

// reusable is the size up to which a buffer is used again: a burst must not hold its memory.
const reusable = 4 << 20

// take returns all frames that wait, and an error when none will follow. spare is a buffer
// that is no longer used.
func (q *queue) take(spare []byte) ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending) == 0 {
		return nil, q.err
	}
	taken := q.pending
	if cap(spare) > reusable {
		spare = nil
	}
	q.pending = spare[:0]
	q.room.Broadcast()
	return taken, nil
}

// cursor reads a queue's frames one by one. It is used by one goroutine at a time.
type cursor struct {
	queue *queue
	taken []byte // what take returned
	at    int    // of the next frame in it
}

// peek returns the next frame without moving on; nil: none has arrived.
func (c *cursor) peek() ([]byte, error) {
	if c.at == len(c.taken) {
		taken, err := c.queue.take(c.taken)
		if taken == nil {
			return nil, err
		}
		c.taken, c.at = taken, 0
	}
	n := int(binary.LittleEndian.Uint32(c.taken[c.at:]))
	return c.taken[c.at+4 : c.at+4+n : c.at+4+n], nil
}

// next moves behind the frame that peek returned.
func (c *cursor) next() {
	c.at += 4 + int(binary.LittleEndian.Uint32(c.taken[c.at:]))
}
