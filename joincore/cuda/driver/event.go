//go:build cuda

package driver

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"syscall"
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

// SpinFor is how long Sync does not leave the processor: about the time that handing a wait
// to the waiter takes; most waits are shorter.
const SpinFor = 20 * time.Microsecond

// Spin is Sync that does not leave the processor, for a point that is reached soon: a sleep would
// take longer than the work.
func (e *Event) Spin(ctx context.Context) error { return e.SyncSpinning(ctx, math.MaxInt64) }

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

// waiter is the thread that waits for the device on behalf of goroutines. It polls
// all events in turn, so that a short wait is not delayed by a longer one: at first
// without pauses, since most waits are short, then with pauses.
type waiter struct {
	c    *Context
	add  chan wait
	quit chan struct{}
	once sync.Once
	idle sync.WaitGroup
}

// wait is a pending wait for one event; done receives its outcome without blocking.
type wait struct {
	event cu.Event
	done  chan error
}

const (
	keenFor  = 200 * time.Microsecond // time for which a wait is polled without pauses
	pauseFor = 20 * time.Microsecond
)

func newWaiter(c *Context) *waiter {
	w := &waiter{c: c, add: make(chan wait), quit: make(chan struct{})}
	w.idle.Add(1)
	go w.run()
	return w
}

// wait returns a channel that will receive the outcome of an event.
func (w *waiter) wait(e cu.Event) <-chan error {
	done := make(chan error, 1)
	select {
	case w.add <- wait{event: e, done: done}:
	case <-w.quit:
		done <- errClosed
	}
	return done
}

var errClosed = errors.New("CUDA context is closed")

func (w *waiter) run() {
	runtime.LockOSThread()
	defer w.idle.Done()
	current := cu.SetCurrentContext(w.c.ctx)
	var pending []wait
	var keen time.Time
	for {
		var next <-chan wait = w.add
		switch {
		case len(pending) == 0:
			select {
			case p := <-next:
				pending, keen = append(pending, p), time.Now().Add(keenFor)
			case <-w.quit:
				return
			}
		default:
			select {
			case p := <-next:
				pending, keen = append(pending, p), time.Now().Add(keenFor)
			case <-w.quit:
				for _, p := range pending {
					p.done <- errClosed
				}
				return
			default:
				if time.Now().After(keen) {
					pause()
				}
			}
		}
		left := pending[:0]
		for _, p := range pending {
			err := current
			if err == nil {
				err = p.event.Query()
			}
			if e := wrap("cuEventQuery", err); isNotReady(e) {
				left = append(left, p)
			} else {
				p.done <- w.c.note(e)
			}
		}
		pending = left
	}
}

// pause lets the thread sleep. time.Sleep would take a millisecond and more in a process
// that is otherwise idle.
func pause() {
	t := syscall.NsecToTimespec(int64(pauseFor))
	_ = syscall.Nanosleep(&t, nil) // a signal may end it early, which is as well
}

func isNotReady(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == codeNotReady
}

func (w *waiter) stop() {
	w.once.Do(func() { close(w.quit) })
	w.idle.Wait()
}
