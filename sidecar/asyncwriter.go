package sidecar

import (
	"io"
	"sync"
	"time"
)

// AsyncWriter passes what is written to it to another writer from a goroutine, so that
// a slow file delays no caller. A write that finds too many bytes waiting is dropped.
type AsyncWriter struct {
	w     io.Writer
	most  int
	wrote func(err error, dropped int64) bool
	done  chan struct{} // closed when the goroutine has returned

	mu      sync.Mutex
	wake    sync.Cond // signalled on each change of the following fields
	waiting []byte
	dropped int64 // writes that wrote does not know of
	closed  bool
}

// NewAsyncWriter returns a writer to w, for which at most the given number of bytes wait.
// It calls wrote after each write to w, with the error and the number of writes that were
// dropped after those bytes, and writes no more if wrote returns false. The caller must
// call Close.
func NewAsyncWriter(w io.Writer, most int, wrote func(err error, dropped int64) bool) *AsyncWriter {
	a := &AsyncWriter{w: w, most: most, wrote: wrote, done: make(chan struct{})}
	a.wake.L = &a.mu
	go a.work()
	return a
}

// Write implements io.Writer. It does not fail.
func (a *AsyncWriter) Write(b []byte) (int, error) {
	a.put(b)
	return len(b), nil
}

// put writes all parts or none.
func (a *AsyncWriter) put(parts ...[]byte) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return
	case len(a.waiting)+n > a.most:
		a.dropped++
	default:
		for _, p := range parts {
			a.waiting = append(a.waiting, p...)
		}
	}
	a.wake.Signal()
}

// work writes what waits until the writer is closed and nothing waits.
func (a *AsyncWriter) work() {
	defer close(a.done)
	a.mu.Lock()
	defer a.mu.Unlock()
	var spare []byte
	for {
		for len(a.waiting) == 0 && a.dropped == 0 && !a.closed {
			a.wake.Wait()
		}
		if len(a.waiting) == 0 && a.dropped == 0 {
			return
		}
		b, dropped := a.waiting, a.dropped
		a.waiting, a.dropped = spare, 0
		a.mu.Unlock()
		_, err := a.w.Write(b)
		goOn := a.wrote(err, dropped)
		a.mu.Lock()
		spare = b[:0]
		if !goOn {
			a.closed, a.waiting = true, nil
			return
		}
	}
}

// Close drops later writes and waits at most timeout until all earlier ones are written.
// It reports whether they are; if not, the goroutine may still be blocked in w.Write.
func (a *AsyncWriter) Close(timeout time.Duration) bool {
	a.mu.Lock()
	a.closed = true
	a.wake.Signal()
	a.mu.Unlock()
	select {
	case <-a.done:
		return true
	case <-time.After(timeout):
		return false
	}
}
