//go:build cuda

package driver

import (
	"errors"
	"runtime"
	"sync"
	"syscall"
	"time"

	"gorgonia.org/cu"
)

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
