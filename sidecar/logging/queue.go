package logging

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// maxQueued is how many bytes wait to be written, at most: some thousand lines,
// or some stacks.
const maxQueued = 1 << 20

// queue is an io.Writer of whole lines, which never waits.
type queue struct {
	w       io.Writer
	most    int
	dropped func(lines int64) // says so, to w itself
	written chan struct{}     // closed when all is, after close

	mu     sync.Mutex
	more   sync.Cond // lines wait, or the queue is closed
	lines  [][]byte
	bytes  int
	lost   int64 // lines that were dropped and not spoken of yet
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

// write writes lines until the queue is closed and empty. An error of w is no
// reason to stop: its reader may come back.
func (q *queue) write() {
	defer close(q.written)
	for {
		line, lost, ok := q.next()
		if ok {
			_, _ = q.w.Write(line) // nowhere is left to say so
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
	if len(q.lines) == 0 { // lines that wait came before those that were lost
		q.lines = nil
		lost = q.spoken()
	}
	return line, lost, true
}

// spoken returns how many lines were lost since the last call. The caller has
// locked q.
func (q *queue) spoken() int64 {
	lost := q.lost
	q.lost = 0
	return lost
}

// close takes no more lines, and waits at most patience until those that it has
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
