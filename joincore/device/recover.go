package device

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"gpujoin/joincore"
)

// Panic is a panic turned into an error. Its message is one line; Stack is for logs.
type Panic struct {
	Value any
	Stack []byte
	cause error
}

func (p *Panic) Error() string { return fmt.Sprintf("%v: %v", p.cause, p.Value) }

// Unwrap returns ErrInvalid if the run-time system refused an access.
func (p *Panic) Unwrap() error { return p.cause }

var errPanic = errors.New("join failed")

// Recover turns a panic into an error; every goroutine that touches input data defers
// it. An index out of range means that the data contradicts its description, or
// changed while it was read; the process must survive both.
func Recover(err *error) {
	switch p := recover().(type) {
	case nil:
	case runtime.Error:
		*err = &Panic{Value: p, Stack: debug.Stack(), cause: joincore.ErrInvalid}
	default:
		*err = &Panic{Value: p, Stack: debug.Stack(), cause: errPanic}
	}
}

// PanicOnFault turns a memory fault of the calling goroutine into a panic, which
// Recover handles. Extents are sealed and allocated, so this is a last resort.
func PanicOnFault() { debug.SetPanicOnFault(true) }

// Workers calls work on n goroutines, with their numbers. It turns panics and faults into
// errors. The first error ends ctx for all workers, and is returned when they have ended.
func Workers(ctx context.Context, n int, work func(ctx context.Context, worker int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	guarded := func(worker int) (err error) {
		defer Recover(&err)
		PanicOnFault()
		return work(ctx, worker)
	}
	var wait sync.WaitGroup
	for worker := range n {
		wait.Go(func() {
			if err := guarded(worker); err != nil {
				stop(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// Tasks are numbered tasks that workers divide among themselves.
type Tasks struct {
	n    int
	next atomic.Int64
}

// NewTasks returns n tasks.
func NewTasks(n int) *Tasks { return &Tasks{n: n} }

// Deal returns the tasks of one worker, until ctx is done. The worker holds a turn from the
// first to the last one, and lets others go first between them.
func (t *Tasks) Deal(ctx context.Context, turns Turns) iter.Seq[int] {
	return func(yield func(int) bool) {
		turns.Enter(ctx)
		defer turns.Leave()
		for ctx.Err() == nil {
			task := int(t.next.Add(1)) - 1
			if task >= t.n || !yield(task) {
				return
			}
			turns.Yield(ctx)
		}
	}
}

// sticky is an error after which a device no longer works.
type sticky interface {
	error
	Sticky() bool
}

// losable is a provider that can tell whether its device still works.
type losable interface {
	// Lost returns the error by which the device was lost, or nil.
	Lost() error
}

// Lost returns the error by which p's device was lost, or nil. err is the error of an
// execution on p. Only a new process recovers from a loss.
func Lost(p Provider, err error) error {
	if l, ok := p.(losable); ok {
		if lost := l.Lost(); lost != nil {
			return lost
		}
	}
	var s sticky
	if errors.As(err, &s) && s.Sticky() {
		return err
	}
	return nil
}
