//go:build cuda

package driver

import (
	"context"
	"runtime"
	"slices"
	"time"

	"gorgonia.org/cu"
)

// Event is a point in the work of a stream.
type Event struct {
	c     *Context
	event cu.Event
	left  []<-chan error // of cancelled Syncs: the waiter may still query the event
}

// NewEvent creates an event. With timing, Since can use it.
func (c *Context) NewEvent(timing bool) (*Event, error) {
	flags := cu.DisableTiming
	if timing {
		flags = cu.DefaultEvent
	}
	e := &Event{c: c}
	err := c.with("cuEventCreate", func() (err error) {
		e.event, err = cu.MakeEvent(flags)
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Done reports whether the point has been reached, without waiting.
func (e *Event) Done() (bool, error) {
	switch code := query(e.c.ctx, e.event); code {
	case 0:
		return true, nil
	case codeNotReady:
		return false, nil
	default:
		return false, e.c.note(failure("cuEventQuery", code))
	}
}

// Sync waits until the point has been reached and returns the error of any earlier
// work that failed on the device. If ctx ends first it returns ctx's cause; the event
// may then be closed only after its stream has been synchronised. One goroutine waits
// at a time.
func (e *Event) Sync(ctx context.Context) error { return e.SyncSpinning(ctx, SpinFor) }

// SyncSpinning is Sync that does not leave the processor for the given time: to sleep and to
// be woken takes up to 100 µs on a virtual machine.
func (e *Event) SyncSpinning(ctx context.Context, spin time.Duration) error {
	for start := time.Now(); time.Since(start) < spin && ctx.Err() == nil; runtime.Gosched() {
		if done, err := e.Done(); done || err != nil {
			return err
		}
	}
	outcome := e.c.waiter.wait(e.event)
	select {
	case err := <-outcome:
		return err
	case <-ctx.Done():
		e.left = append(slices.DeleteFunc(e.left, arrived), outcome)
		return context.Cause(ctx)
	}
}

// arrived reports whether the channel has an outcome.
func arrived(outcome <-chan error) bool { return len(outcome) > 0 }

// SpinFor is how long Sync does not leave the processor: about the time that handing a wait to the waiter takes; most waits are
// shorter.
const SpinFor = 20 * time.Microsecond

// Since returns the milliseconds from start to e. Both have timing and have been
// reached.
func (e *Event) Since(start *Event) (ms float64, err error) {
	err = e.c.with("cuEventElapsedTime", func() (err error) {
		ms, err = start.event.Elapsed(e.event)
		return err
	})
	return ms, err
}

// Close frees the event, if it is not nil.
func (e *Event) Close() error {
	if e == nil {
		return nil
	}
	for _, outcome := range e.left {
		<-outcome
	}
	return e.c.with("cuEventDestroy", func() error { return cu.DestroyEvent(&e.event) })
}
