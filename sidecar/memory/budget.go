package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gpujoin/joincore"
)

// Errors of admission.
var (
	ErrTooLarge = errors.New("exceeds the memory budget")
	ErrBusy     = errors.New("the memory budget is in use")
	ErrShare    = errors.New("the role's share of the memory budget is in use")
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
	Quota Quota
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
	total   int64
	waiting chan struct{}    // of Waiting
	reclaim func(need int64) // nil: nobody keeps memory

	mu       sync.Mutex
	reserved int64
	queue    []*waiter
	holders  map[*Account]struct{} // open accounts
	accounts map[*Account]struct{} // those that reserve bytes, open or not
	stopping bool
}

type waiter struct {
	n         int64
	overtaken int64 // bytes of later jobs that were admitted first
	claim     Claim
	done      chan struct{}
	short     chan struct{} // gets a value when the request lacks memory that keepers may have
	acct      *Account      // set before done is closed, or
	err       error
}

// NewBudget returns a budget of total bytes.
func NewBudget(total int64) *Budget {
	return &Budget{total: total, waiting: make(chan struct{}, 1), holders: map[*Account]struct{}{}, accounts: map[*Account]struct{}{}}
}

// Reserve waits until n bytes are free and within the claim's quota, for at most
// timeout, and returns an account with that reservation; the caller must close
// it. Requests are served in order, except that jobs may overtake others
// (mayPass). It returns ErrTooLarge at once if n exceeds the budget, ErrBusy or
// ErrShare if the request would have to wait and timeout is 0 or its group
// already holds an account, and ErrStopping after Stop.
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
	b.mu.Unlock()
	b.reclaimFor(n, &claim, nil)
	w := &waiter{n: n, claim: claim, done: make(chan struct{}), short: make(chan struct{}, 1), acct: newAccount(b, store)}
	b.mu.Lock()
	if b.stopping {
		b.mu.Unlock()
		return nil, ErrStopping
	}
	holds := b.holds(claim.Group)
	lack := b.lacks(w)
	if lack == nil && holds || b.mayPass(w, len(b.queue)) {
		if !holds {
			b.pass(w, len(b.queue))
		}
		b.open(w)
		b.mu.Unlock()
		return w.acct, nil
	}
	if holds || timeout <= 0 {
		if lack == nil {
			lack = fmt.Errorf("%w: other jobs wait for it", ErrBusy)
		}
		b.mu.Unlock()
		return nil, lack
	}
	b.queue = append(b.queue, w)
	b.tellShort()
	b.mu.Unlock()
	select {
	case b.waiting <- struct{}{}:
	default: // the receiver has one to take
	}
	return b.wait(ctx, w, timeout)
}

// lacks returns the reason why w does not fit, nil if it does. The caller holds
// b's lock.
func (b *Budget) lacks(w *waiter) error {
	if err := b.exceeds(&w.claim, w.n, nil); err != nil {
		return err
	}
	if free := b.total - b.reserved; w.n > free {
		return fmt.Errorf("%w: %d bytes requested, %d free", ErrBusy, w.n, free)
	}
	return nil
}

func (b *Budget) wait(ctx context.Context, w *waiter, timeout time.Duration) (*Account, error) {
	var err error
	for late := time.After(timeout); err == nil; {
		select {
		case <-w.done:
			return w.acct, w.err
		case <-w.short:
			b.reclaimFor(w.n, &w.claim, nil)
		case <-late:
			err = fmt.Errorf("%w: waited %v for %d bytes", ErrBusy, timeout, w.n)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	b.mu.Lock()
	if i := slices.Index(b.queue, w); i >= 0 {
		if share := b.exceeds(&w.claim, w.n, nil); share != nil && errors.Is(err, ErrBusy) {
			err = fmt.Errorf("%w, waited %v", share, timeout)
		}
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

// open opens w's account. The caller has locked b and seen that w fits.
// Waiters of the same group would wait for themselves; they are refused.
func (b *Budget) open(w *waiter) {
	a := w.acct
	a.claim, a.booked = w.claim, w.n
	a.AddLimit(w.n)
	b.reserved += w.n
	b.holders[a], b.accounts[a] = struct{}{}, struct{}{}
	b.queue = slices.DeleteFunc(b.queue, func(o *waiter) bool {
		if !o.claim.Group.meets(w.claim.Group) {
			return false
		}
		o.refuse(fmt.Errorf("%w: the backend has another job", ErrBusy))
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
		if !b.mayPass(w, i) {
			i++
			continue
		}
		b.pass(w, i)
		b.queue = slices.Delete(b.queue, i, i+1)
		b.open(w)
		close(w.done)
		i = 0 // open may have taken others off
	}
	b.tellShort()
}

// smallPart is the factor by which a job must be smaller than another job to
// overtake it.
const smallPart = 4

// mayPass reports whether w fits and may overtake the first ahead jobs of the
// queue. A job that waits for its own role's memory holds up no other role. A
// small job does not wait for memory that only a large one lacks. The extra wait
// of an overtaken job is bounded: the small jobs that overtake it reserve in
// total at most as many bytes as it requests itself. The caller holds b's lock.
func (b *Budget) mayPass(w *waiter, ahead int) bool {
	if b.lacks(w) != nil {
		return false
	}
	for _, o := range b.queue[:ahead] {
		if (w.n > o.n/smallPart || w.n > o.n-o.overtaken) && !b.aside(o, w) {
			return false
		}
	}
	return true
}

// aside reports whether o waits only for memory of its own role, which is not
// that of w. The caller holds b's lock.
func (b *Budget) aside(o, w *waiter) bool {
	return o.claim.Quota.Role != w.claim.Quota.Role && b.exceeds(&o.claim, o.n, nil) != nil
}

// pass records that w has overtaken. The caller holds b's lock.
func (b *Budget) pass(w *waiter, ahead int) {
	for _, o := range b.queue[:ahead] {
		if !b.aside(o, w) {
			o.overtaken += w.n
		}
	}
}

// grow reserves n more bytes for a running job, if they are free and within its
// quota. It takes precedence over the queue, because running jobs return their
// memory sooner than waiting ones. Errors wrap joincore.ErrBudget.
func (b *Budget) grow(a *Account, n int64) error {
	b.reclaimFor(n, &a.claim, a)
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.total-b.reserved {
		return joincore.ErrBudget
	}
	if err := b.exceeds(&a.claim, n, a); err != nil {
		return fmt.Errorf("%w: %w", joincore.ErrBudget, err)
	}
	b.reserved += n
	a.booked += n
	b.accounts[a] = struct{}{}
	return nil
}

// release returns n reserved bytes of a.
func (b *Budget) release(a *Account, n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved -= n
	if a.booked -= n; a.booked == 0 {
		delete(b.accounts, a)
	}
	b.pump()
}

// leave removes the closed account a, so that its group may queue again and its
// role may have another job.
func (b *Budget) leave(a *Account) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.holders, a)
	if a.booked == 0 {
		delete(b.accounts, a)
	}
	b.pump()
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

// Waiting returns a channel that receives a value when a request begins to wait.
// It has one receiver.
func (b *Budget) Waiting() <-chan struct{} { return b.waiting }

// Shortage returns a function that reports whether memory that an account gives back helps
// the requests that wait now.
func (b *Budget) Shortage() func(*Account) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	roles := map[Role]bool{} // whose share is lacking
	for _, w := range b.queue {
		lack := b.lacks(w)
		switch {
		case errors.Is(lack, ErrShare):
			roles[w.claim.Quota.Role] = true
		case lack != nil:
			return func(*Account) bool { return true }
		}
	}
	return func(a *Account) bool { return roles[a.claim.Quota.Role] }
}
