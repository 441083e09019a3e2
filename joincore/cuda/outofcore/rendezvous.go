package outofcore

import (
	"context"
	"sync"
)

// Rendezvous is where executions wait until all of them have come.
type Rendezvous struct {
	mu      sync.Mutex
	missing int
	all     chan struct{} // closed when none is missing
}

// NewRendezvous returns one of n arrivals, at least one.
func NewRendezvous(n int) *Rendezvous {
	return &Rendezvous{missing: n, all: make(chan struct{})}
}

// Arrive counts one of the arrivals.
func (r *Rendezvous) Arrive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missing--; r.missing == 0 {
		close(r.all)
	}
}

// Wait returns when all have come, or the cause of ctx: that of an execution ends when
// another one fails, which may never come.
func (r *Rendezvous) Wait(ctx context.Context) error {
	select {
	case <-r.all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
