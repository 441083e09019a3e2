package device

import (
	"context"
	"sync"
)

// Future is a value that a device may still be computing. Futures may be awaited in
// any order, also concurrently with those of other devices.
type Future[T any] struct {
	known   T
	at      Location
	pending *pending[T] // nil: the value is known
}

// Count is a number of rows unless a method says otherwise.
type Count = Future[int64]

// Known returns a Future whose value is already on the host.
func Known[T any](v T) Future[T] { return Future[T]{known: v, at: Host} }

// Pending returns a Future of a device's value. wait returns the value; it is called
// once.
func Pending[T any](at Location, wait func(context.Context) (T, error)) Future[T] {
	return Future[T]{at: at, pending: &pending[T]{wait: wait}}
}

// At returns the location of the device that computes the value.
func (f Future[T]) At() Location { return f.at }

// Wait returns the value, or the error of any work queued on the same stream before
// it, all of which is then done. If ctx ends first, it returns ctx's cause and the
// value is lost. In any case the device no longer writes to the memory of the result.
// Later calls return the same outcome. One goroutine waits at a time.
func (f Future[T]) Wait(ctx context.Context) (T, error) {
	if f.pending == nil {
		return f.known, nil
	}
	return f.pending.outcome(ctx)
}

// pending is shared by the copies of a future.
type pending[T any] struct {
	mu    sync.Mutex
	wait  func(context.Context) (T, error) // nil: value and err are set
	value T
	err   error
}

func (p *pending[T]) outcome(ctx context.Context) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wait != nil {
		p.value, p.err = p.wait(ctx)
		p.wait = nil
	}
	return p.value, p.err
}
