//go:build cuda

package fabric

import (
	"runtime"
	"sync"
	"time"

	"gpujoin/joincore/cuda/driver"
)

// waiting is a copy whose end is awaited.
type waiting struct {
	event *event    // nil: nothing is queued
	until time.Time // the copy does not end before
	err   error     // of queueing it
	done  func(error)
}

// poller is the thread that waits for the copies that one GPU sends.
type poller struct {
	context *driver.Context
	mu      sync.Mutex
	more    sync.Cond
	list    []waiting // new
	closed  bool
	ended   chan struct{}
}

func newPoller(c *driver.Context) *poller {
	p := &poller{context: c, ended: make(chan struct{})}
	p.more.L = &p.mu
	go p.run()
	return p
}

func (p *poller) add(w waiting) {
	p.mu.Lock()
	p.list = append(p.list, w)
	p.mu.Unlock()
	p.more.Signal()
}

// close ends the thread when no copy is left.
func (p *poller) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.more.Signal()
	<-p.ended
}

// stalledAfter is how long copies may be under way without one that ends, before the
// device counts as lost.
const stalledAfter = 10 * time.Second

func (p *poller) run() {
	runtime.LockOSThread()
	defer close(p.ended)
	var list []waiting
	progress := time.Now()
	for {
		p.mu.Lock()
		for len(list)+len(p.list) == 0 && !p.closed {
			p.more.Wait()
			progress = time.Now()
		}
		if len(list)+len(p.list) == 0 {
			p.mu.Unlock()
			return
		}
		list = append(list, p.list...)
		p.list = p.list[:0]
		p.mu.Unlock()

		left := list[:0]
		for _, w := range list {
			if !w.over() {
				left = append(left, w)
			}
		}
		if len(left) < len(list) {
			progress = time.Now()
		}
		clear(list[len(left):])
		list = left
		if len(list) > 0 && time.Since(progress) > stalledAfter {
			for _, w := range list {
				w.done(errStalled)
			}
			list = list[:0]
		}
	}
}

// over calls done if the copy has ended, and reports whether it has.
func (w *waiting) over() bool {
	if w.event == nil {
		w.done(w.err)
		return true
	}
	ended, err := w.event.event.Done()
	if !ended && err == nil || err == nil && time.Now().Before(w.until) {
		return false
	}
	w.event.give()
	if w.err != nil {
		err = w.err
	}
	w.done(err)
	return true
}
