//go:build cuda

package fabric

import (
	"sync"
	"time"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/exchange/live"
)

// device is a device and the copies that it sends.
type device struct {
	context *driver.Context
	mu      sync.Mutex
	lanes   []*lane
	held    held
	moved   time.Time // when a copy began or ended last
}

// stalledAfter is how long copies may be under way without one that ends, before the
// device counts as lost.
const stalledAfter = 10 * time.Second

// copy queues a copy on a lane.
func (d *device) copy(l *lane, pieces []live.Piece, o over) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moved = time.Now()
	l.copy(pieces, o)
}

// poll ends copies and reports whether some are still under way.
func (d *device) poll() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	under, moved := false, false
	for _, l := range d.lanes {
		for {
			o, ok := l.ended()
			if !ok {
				break
			}
			moved = true
			d.held.add(o)
		}
		under = under || len(l.waiting) > 0
	}
	if d.held.end(time.Now) {
		moved = true
	}
	switch {
	case moved:
		d.moved = time.Now()
	case under && time.Since(d.moved) > stalledAfter:
		d.lose()
		under = false
	}
	return under || d.held.any()
}

// lose ends all copies with an error: the device does not answer.
func (d *device) lose() {
	for _, l := range d.lanes {
		for _, w := range l.waiting {
			w.done(errStalled)
		}
		l.waiting = nil
	}
}
