//go:build cuda

package fabric

import (
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/exchange/live"
)

// device is a device and the copies that it sends. Several goroutines may queue copies
// on its lanes; one at a time polls.
type device struct {
	context *driver.Context
	lanes   []*lane
	moved   atomic.Int64 // when a copy began or ended last, in nanoseconds since began

	polling sync.Mutex
	held    held // guarded by polling
}

// stalledAfter is how long copies may be under way without one that ends, before the
// device counts as lost.
const stalledAfter = 10 * time.Second

// began is some time before all others.
var began = time.Now()

// touch notes that something moved.
func (d *device) touch() { d.moved.Store(int64(time.Since(began))) }

// copy queues a copy on a lane.
func (d *device) copy(l *lane, pieces []live.Piece, o over) {
	d.touch()
	l.copy(pieces, o)
}

// poll ends copies and reports whether some are still under way. Another goroutine that
// polls already does it for all.
func (d *device) poll() bool {
	if !d.polling.TryLock() {
		return true
	}
	defer d.polling.Unlock()
	under, moved := false, false
	for _, l := range d.lanes {
		for {
			o, ended, more := l.end(time.Now())
			under = under || more
			if !ended {
				break
			}
			moved = true
			d.held.add(o)
		}
	}
	if d.held.end(time.Now) {
		moved = true
	}
	switch {
	case moved:
		d.touch()
	case under && time.Since(began)-time.Duration(d.moved.Load()) > stalledAfter:
		d.lose()
		under = false
	}
	return under || d.held.any()
}

// lose ends all copies with an error: the device does not answer.
func (d *device) lose() {
	for _, l := range d.lanes {
		for _, w := range l.abandon() {
			w.done(errStalled)
		}
	}
}
