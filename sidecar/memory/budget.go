package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Errors of admission.
var (
	ErrTooLarge = errors.New("exceeds the memory budget")
	ErrBusy     = errors.New("the memory budget is in use")
	ErrStopping = errors.New("the daemon is stopping")
)

// Group identifies processes that would wait for themselves: a backend and its
// parallel workers. It holds the process id of the leader and the one that the
// kernel reports, 0 if unknown. Two groups are the same if they share an id.
type Group [2]int32

func (g Group) meets(o Group) bool {
	return slices.ContainsFunc(g[:], func(p int32) bool { return p > 0 && (p == o[0] || p == o[1]) })
}

// Claim describes a request for memory.
type Claim struct {
	Group Group
	// Present reports whether the claimant is still connected. The account of a
	// claimant that has left no longer blocks its group, even before it is
	// cleaned up. nil means always present.
	Present func() bool
}

func (c *Claim) holds() bool { return c.Present == nil || c.Present() }

// Budget admits jobs to the daemon's memory. It cannot deadlock: a job reserves
// all the memory it is expected to need before it is fed, and a backend that
// holds a job never queues for another one.
type Budget struct {
	total int64

	mu       sync.Mutex
	reserved int64
	queue    []*waiter
	holders  map[*Account]struct{}
	stopping bool
}

type waiter struct {
	n         int64
	overtaken int64 // bytes of later jobs that were admitted first
	claim     Claim
	done      chan struct{}
	acct      *Account // set before done is closed, or
	err       error
}

// NewBudget returns a budget of total bytes.
func NewBudget(total int64) *Budget {
	return &Budget{total: total, holders: map[*Account]struct{}{}}
}

// Reserve waits until n bytes are free, for at most timeout, and returns an
// account with that reservation; the caller must close it. Requests are served
// in order, except that small jobs may overtake large ones (mayPass). It
// returns ErrTooLarge at once if n exceeds the budget, ErrBusy if the request
// would have to wait and timeout is 0 or its group already holds an account,
// and ErrStopping after Stop.
func (b *Budget) Reserve(ctx context.Context, store *Store, n int64, claim Claim, timeout time.Duration) (*Account, error) {
	b.mu.Lock()
	if b.stopping {
		b.mu.Unlock()
		return nil, ErrStopping
	}
	if n > b.total {
		b.mu.Unlock()
		return nil, fmt.Errorf("%w: %d of %d bytes", ErrTooLarge, n, b.total)
	}
	holds := b.holds(claim.Group)
	fits := n <= b.total-b.reserved
	if fits && holds || b.mayPass(n, len(b.queue)) {
		if !holds {
			b.pass(n, len(b.queue))
		}
		a := &Account{budget: b, store: store}
		b.open(a, n, claim)
		b.mu.Unlock()
		return a, nil
	}
	if holds || timeout <= 0 {
		free := b.total - b.reserved
		b.mu.Unlock()
		return nil, fmt.Errorf("%w: %d bytes requested, %d free", ErrBusy, n, free)
	}
	w := &waiter{n: n, claim: claim, done: make(chan struct{})}
	w.acct = &Account{budget: b, store: store}
	b.queue = append(b.queue, w)
	b.mu.Unlock()
	return b.wait(ctx, w, timeout)
}

func (b *Budget) wait(ctx context.Context, w *waiter, timeout time.Duration) (*Account, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var err error
	select {
	case <-w.done:
		return w.acct, w.err
	case <-timer.C:
		err = fmt.Errorf("%w: waited %v for %d bytes", ErrBusy, timeout, w.n)
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mu.Lock()
	if i := slices.Index(b.queue, w); i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
		b.pump() // the one behind may fit
		b.mu.Unlock()
		return nil, err
	}
	b.mu.Unlock()
	<-w.done
	return w.acct, w.err
}

// holds reports whether group holds an account. The caller holds b's lock.
func (b *Budget) holds(group Group) bool {
	for a := range b.holders {
		if a.claim.Group.meets(group) && a.claim.holds() {
			return true
		}
	}
	return false
}

// open opens an account. The caller has locked b and seen that n fits.
// Waiters of the same group would wait for themselves; they are refused.
func (b *Budget) open(a *Account, n int64, claim Claim) {
	a.claim, a.reserved = claim, n
	b.reserved += n
	b.holders[a] = struct{}{}
	b.queue = slices.DeleteFunc(b.queue, func(w *waiter) bool {
		if !w.claim.Group.meets(claim.Group) {
			return false
		}
		w.refuse(fmt.Errorf("%w: the backend has another job", ErrBusy))
		return true
	})
}

func (w *waiter) refuse(err error) {
	w.acct, w.err = nil, err
	close(w.done)
}

// pump admits queued jobs that fit, in order except for small jobs. The caller
// holds b's lock.
func (b *Budget) pump() {
	for i := 0; i < len(b.queue); {
		w := b.queue[i]
		if !b.mayPass(w.n, i) {
			i++
			continue
		}
		b.pass(w.n, i)
		b.queue = slices.Delete(b.queue, i, i+1)
		b.open(w.acct, w.n, w.claim)
		close(w.done)
		i = 0 // open may have taken others off
	}
}

// smallPart is the factor by which a job must be smaller than another job to
// overtake it.
const smallPart = 4

// mayPass reports whether a job of n bytes fits and may overtake the first
// ahead jobs of the queue, so that a small job does not wait for memory that
// only a large one lacks. The extra wait of an overtaken job is bounded: the
// jobs that overtake it reserve in total at most as many bytes as it requests
// itself. The caller holds b's lock.
func (b *Budget) mayPass(n int64, ahead int) bool {
	if n > b.total-b.reserved {
		return false
	}
	for _, w := range b.queue[:ahead] {
		if n > w.n/smallPart || n > w.n-w.overtaken {
			return false
		}
	}
	return true
}

// pass records that a job of n bytes has overtaken. The caller holds b's lock.
func (b *Budget) pass(n int64, ahead int) {
	for _, w := range b.queue[:ahead] {
		w.overtaken += n
	}
}

// grow reserves n more bytes for a running job, if they are free. It takes
// precedence over the queue, because running jobs return their memory sooner
// than waiting ones.
func (b *Budget) grow(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.total-b.reserved {
		return false
	}
	b.reserved += n
	return true
}

// release returns n reserved bytes.
func (b *Budget) release(n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved -= n
	b.pump()
}

// leave removes the closed account a, so that its group may queue again.
func (b *Budget) leave(a *Account) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.holders, a)
}

// Stop makes all waiting and later calls of Reserve fail with ErrStopping.
func (b *Budget) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopping = true
	for _, w := range b.queue {
		w.refuse(ErrStopping)
	}
	b.queue = nil
}

// BudgetUsage is a snapshot of a Budget.
type BudgetUsage struct {
	Total, Reserved int64
	Queued, Jobs    int
}

// Usage returns a snapshot of b.
func (b *Budget) Usage() BudgetUsage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return BudgetUsage{Total: b.total, Reserved: b.reserved, Queued: len(b.queue), Jobs: len(b.holders)}
}
