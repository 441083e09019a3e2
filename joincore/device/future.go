package device

import (
	"context"
	"sync"
)

// Future is a value that a device may still be computing. It says which device
// that is, and is awaited by whoever needs the value: in any order, beside
// futures of other devices.
type Future[T any] struct {
	known   T
	at      Location
	pending *pending[T] // nil: the value is known
}

// Count is a number of rows, or of what a method says.
type Count = Future[int64]

// Known is a value that is on the host already.
func Known[T any](v T) Future[T] { return Future[T]{known: v, at: Host} }

// Pending is a value of a device that wait waits for. wait is called once.
func Pending[T any](at Location, wait func(context.Context) (T, error)) Future[T] {
	return Future[T]{at: at, pending: &pending[T]{wait: wait}}
}

// At says where the value is computed.
func (f Future[T]) At() Location { return f.at }

// Wait returns the value. Everything that was asked of the same stream before
// is then done, and its error, where it had one, is returned here. Where ctx
// ends first it returns its cause, and the value is lost; in any case the
// device then leaves alone what it was to write the result to. The first
// outcome is that of every later call. One goroutine waits at a time.
func (f Future[T]) Wait(ctx context.Context) (T, error) {
	if f.pending == nil {
		return f.known, nil
	}
	return f.pending.outcome(ctx)
}

// pending is shared by the copies of a future.
type pending[T any] struct {
	mu    sync.Mutex
	wait  func(context.Context) (T, error) // nil: value and err are there
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
