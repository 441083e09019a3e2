package outofcore

import (
	"context"
	"sync"
	"time"

	"gpujoin/joincore/device"
)

// Stages calls work for stages 0 to n-1 one after the other. Meanwhile fetch gets what
// the next stages need, in order, at most the given number of stages ahead of work; what
// fails there has to fail again in work.
func Stages(ctx context.Context, n, ahead int, fetch func(ctx context.Context, i int), work func(i int) error) error {
	ctx, stop := context.WithCancel(ctx)
	allowed := make(chan struct{}, n) // an element for each stage that may be fetched
	fetched := make(chan struct{}, n)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			if _, ok := <-allowed; !ok {
				return
			}
			guardedFetch(ctx, i, fetch)
			fetched <- struct{}{}
		}
	}()
	defer func() {
		stop()
		close(allowed)
		<-ended
	}()
	for range min(ahead, n) {
		allowed <- struct{}{}
	}
	for i := range n {
		if i+ahead < n {
			allowed <- struct{}{}
		}
		<-fetched
		if err := work(i); err != nil {
			return err
		}
	}
	return nil
}

// guardedFetch calls fetch unless ctx has ended. What fails fails again when it is needed.
func guardedFetch(ctx context.Context, i int, fetch func(ctx context.Context, i int)) {
	var unread error
	defer device.Recover(&unread)
	device.PanicOnFault()
	if ctx.Err() == nil {
		fetch(ctx, i)
	}
}

// devicesEndSooner reports whether devices, which claimed a number of windows in a time,
// partition all that are left before cores have partitioned one more, for which they take as
// long as for the one before. The devices would wait for the cores then. 0: neither is known yet.
func devicesEndSooner(left, claimed int, since, took time.Duration) bool {
	return claimed > 0 && since/time.Duration(claimed)*time.Duration(left) < took
}

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
