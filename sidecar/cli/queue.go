package cli

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// maxQueued is the limit of the queue in bytes: a few thousand lines.
const maxQueued = 1 << 20

// queue is an io.Writer of whole lines that never blocks.
type queue struct {
	w       io.Writer
	most    int
	dropped func(lines int64) // says so, to w itself
	written chan struct{}     // closed when all is, after close

	mu     sync.Mutex
	more   sync.Cond // lines wait, or the queue is closed
	lines  [][]byte
	bytes  int
	lost   int64 // dropped lines that were not reported yet
	closed bool
}

func newQueue(w io.Writer, most int) *queue {
	q := &queue{w: w, most: most, written: make(chan struct{})}
	q.more.L = &q.mu
	return q
}

// Write implements io.Writer, for one line. It does not fail.
func (q *queue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.bytes+len(line) > q.most {
		q.lost++
		return len(line), nil
	}
	q.lines = append(q.lines, bytes.Clone(line))
	q.bytes += len(line)
	q.more.Signal()
	return len(line), nil
}

// write writes lines until the queue is closed and empty. It continues after an
// error of w, because the reader may come back.
func (q *queue) write() {
	defer close(q.written)
	for {
		line, lost, ok := q.next()
		if ok {
			_, _ = q.w.Write(line) // there is nowhere to report it
		}
		if lost > 0 {
			q.dropped(lost)
		}
		if !ok {
			return
		}
	}
}

// next waits for a line. lost is how many were dropped after it.
func (q *queue) next() (line []byte, lost int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.lines) == 0 && !q.closed {
		q.more.Wait()
	}
	if len(q.lines) == 0 {
		return nil, q.spoken(), false
	}
	line = q.lines[0]
	q.lines[0] = nil
	q.lines = q.lines[1:]
	q.bytes -= len(line)
	if len(q.lines) == 0 { // queued lines precede dropped ones
		q.lines = nil
		lost = q.spoken()
	}
	return line, lost, true
}

// spoken returns how many lines were dropped since the last call. The caller
// holds q's lock.
func (q *queue) spoken() int64 {
	lost := q.lost
	q.lost = 0
	return lost
}

// close rejects further lines and waits at most patience until the queued lines
// are written.
func (q *queue) close(patience time.Duration) bool {
	q.mu.Lock()
	q.closed = true
	q.more.Signal()
	q.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-q.written:
		return true
	case <-timer.C:
		return false
	}
}
