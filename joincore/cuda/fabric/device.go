//go:build cuda

package fabric

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore/cuda/driver"
)

// device is a device and the copies that it sends. Several goroutines may queue copies
// on its channels; one at a time polls.
type device struct {
	context  *driver.Context
	threads  *threads // nil: engines execute all copies
	channels []*channel
	moved    atomic.Int64 // when a copy began or ended last, in nanoseconds since began

	polling sync.Mutex
	held    held          // guarded by polling
	ended   []over        // what poll has found last; guarded by polling
	asked   time.Duration // when poll has asked for errors last; guarded by polling
}

// stalledAfter is how long copies may be under way without one that ends, before the
// device counts as lost.
const stalledAfter = 10 * time.Second

// errStalled says that a device does not answer.
var errStalled = errors.New("no copy between GPUs has ended for seconds")

// askedAfter is how long copies may be under way without one that ends, before the driver is
// asked whether they have failed.
const askedAfter = 5 * time.Millisecond

// began is some time before all others.
var began = time.Now()

// touch notes that something moved.
func (d *device) touch() { d.moved.Store(int64(time.Since(began))) }

// poll ends copies and reports whether some are still under way. Another goroutine that
// polls already does it for all.
func (d *device) poll() bool {
	if !d.polling.TryLock() {
		return true
	}
	defer d.polling.Unlock()
	now := time.Now()
	under, moved := false, false
	for _, l := range d.channels {
		var more bool
		d.ended, more = l.end(now, d.ended[:0])
		under = under || more
		for _, o := range d.ended {
			moved = true
			d.held.add(o)
		}
		clear(d.ended)
	}
	if d.held.end(now) {
		moved = true
	}
	if moved {
		d.touch()
	} else if under {
		if err := d.stalled(now.Sub(began)); err != nil {
			d.lose(err)
			under = false
		}
	}
	return under || d.held.any()
}

// stalled returns why copies under way will not end, if there is a reason.
func (d *device) stalled(now time.Duration) error {
	still := now - time.Duration(d.moved.Load())
	if still > stalledAfter {
		return errStalled
	}
	if still < askedAfter || now-d.asked < askedAfter {
		return nil
	}
	d.asked = now
	for _, l := range d.channels {
		if err := l.failed(); err != nil {
			return err
		}
	}
	return nil
}

// lose ends all copies with an error: the device has failed, or does not answer.
func (d *device) lose(err error) {
	for _, l := range d.channels {
		for _, p := range l.abandon() {
			p.done(err)
		}
	}
}
