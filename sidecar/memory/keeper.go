package memory

import (
	"fmt"

	"gpujoin/joincore"
)

// Keeper is memory that no job has: what stays in the daemon between jobs. It takes only
// memory that no job wants, and jobs can have it back (Budget.Reclaim).
type Keeper struct {
	account *Account
	extents *joincore.Account
}

// NewKeeper returns a keeper that holds nothing. name is its part in reports.
func NewKeeper(b *Budget, s *Store, name string) *Keeper {
	a := newAccount(b, s)
	return &Keeper{a, joincore.NewAccount(name, a)}
}

// Extent takes an extent that belongs to no job, with one reference for the caller. The error
// wraps joincore.ErrBudget if jobs have the memory or wait for it, or ErrStore.
func (k *Keeper) Extent() (*Extent, error) {
	a, size := k.account, k.account.store.ExtentSize()
	if !a.budget.spare(a, size) {
		return nil, fmt.Errorf("%w: no memory is left over by jobs", joincore.ErrBudget)
	}
	a.mu.Lock()
	a.AddLimit(size)
	a.Take(size)
	a.mu.Unlock()
	return a.extent(k.extents, spareWindow)
}

// Report lists the keeper's account, which is called path.
func (k *Keeper) Report(path string, list []joincore.AccountUsage) []joincore.AccountUsage {
	return k.account.Report(path, list)
}

// spare reserves n bytes that are of use but not needed, if they are free and no job waits.
func (b *Budget) spare(a *Account, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 || b.stopping || n > b.total-b.reserved {
		return false
	}
	b.reserved += n
	a.booked += n
	b.accounts[a] = struct{}{}
	return true
}

// Reclaim sets the function that gives back memory of keepers: at least need bytes, or all
// that it can. It is called before a job waits for memory or fails for lack of it, without
// the budget's lock, and must be set before the first job.
func (b *Budget) Reclaim(reclaim func(need int64)) { b.reclaim = reclaim }

// reclaimFor makes n bytes free for a claim as far as keepers have them, unless its quota refuses
// it anyway. self is the claimant's account, nil if it has none yet.
func (b *Budget) reclaimFor(n int64, claim *Claim, self *Account) {
	if b.reclaim == nil {
		return
	}
	b.mu.Lock()
	need := n - (b.total - b.reserved)
	if need > 0 && b.exceeds(claim, n, self) != nil {
		need = 0
	}
	b.mu.Unlock()
	if need > 0 {
		b.reclaim(need)
	}
}

// short returns the request that has waited for the longest time of those that lack memory,
// and no quota; nil if there is none. The caller holds b's lock.
func (b *Budget) short() *waiter {
	for _, w := range b.queue {
		if b.exceeds(&w.claim, w.n, nil) == nil {
			if w.n > b.total-b.reserved {
				return w
			}
			return nil // it waits for those before it
		}
	}
	return nil
}

// tellShort has the request that lacks memory, if there is one, take it from keepers. Those may
// hold locks under which memory is given back, so this does not call them itself. The caller
// holds b's lock.
func (b *Budget) tellShort() {
	if b.reclaim == nil {
		return
	}
	if w := b.short(); w != nil {
		select {
		case w.short <- struct{}{}:
		default: // it has been told
		}
	}
}

// Relieve gives memory of keepers to the request that waits for the longest time. Call it when
// keepers may have memory to give that they had not before.
func (b *Budget) Relieve() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tellShort()
}
