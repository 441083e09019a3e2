package cuda

import (
	"context"
	"sync"
)

// rendezvous is where executions wait until all of them have come.
type rendezvous struct {
	mu      sync.Mutex
	missing int
	all     chan struct{} // closed when none is missing
}

// newRendezvous returns one of n arrivals, at least one.
func newRendezvous(n int) *rendezvous {
	return &rendezvous{missing: n, all: make(chan struct{})}
}

// arrive counts one of the arrivals.
func (r *rendezvous) arrive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missing--; r.missing == 0 {
		close(r.all)
	}
}

// wait returns when all have come, or the cause of ctx: that of an execution ends when
// another one fails, which may never come. A context that cannot end does not wait.
func (r *rendezvous) wait(ctx context.Context) error {
	if ctx.Done() == nil {
		return nil
	}
	select {
	case <-r.all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
