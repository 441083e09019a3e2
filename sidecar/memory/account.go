package memory

import (
	"fmt"
	"sync"

	"gpujoin/joincore"
)

// Account is the memory of one job: what it has reserved of the budget, and
// what of that is in use. It is the joincore.Memory of the job's join.
type Account struct {
	budget *Budget
	store  *Store
	claim  Claim

	mu       sync.Mutex
	reserved int64
	used     int64
	results  int64 // of what is not used: kept for result batches
	peak     int64
	closed   bool
	window   uint32 // of results, 0: none; a batch of it that comes back is kept for the next
	windows  uint32 // how many there were
	trimmed  bool   // the reservation falls with what is in use
	blocks   map[*byte]*block
}

// noWindow is where memory goes that is not for results.
const noWindow = 0

// take moves n bytes from reserved to used, and reserves more where the
// estimate was too low and the budget has room. result says that they are for
// a result batch, which may use what KeepForResults set apart; give wants to
// know the window that take returns then.
func (a *Account) take(n int64, result bool) (window uint32, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return noWindow, fmt.Errorf("%w: the job is over", joincore.ErrBudget)
	}
	kept := a.results
	if result {
		kept = max(0, kept-n)
	}
	if more := a.used + n + kept - a.reserved; more > 0 {
		if !a.budget.grow(more) {
			return noWindow, fmt.Errorf("%w: %d bytes in use, %d reserved, %d more needed", joincore.ErrBudget, a.used, a.reserved, n)
		}
		a.reserved += more
	}
	a.results = kept
	a.used += n
	a.peak = max(a.peak, a.used)
	if result {
		window = a.window
	}
	return window, nil
}

// give is the reverse of take. After Close it goes through to the budget.
func (a *Account) give(n int64, window uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= n
	if a.closed || a.trimmed {
		a.shrink(a.used)
	} else if window != noWindow && window == a.window {
		a.results += n
	}
}

// KeepForResults sets apart room for n extents of results, which nothing else
// of the job can take from then on, and returns for how many there was room.
// Those that still come back of a run before are not kept for this one.
func (a *Account) KeepForResults(n int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	size := a.store.ExtentSize()
	a.windows++
	a.trimmed = false
	for a.results, a.window = 0, a.windows; n > 0; n-- {
		want := int64(n) * size
		more := max(0, a.used+want-a.reserved)
		if more == 0 || a.budget.grow(more) {
			a.reserved += more
			a.results = want
			return n
		}
	}
	return 0
}

// shrink gives back the reservation beyond n bytes. The caller has locked a.
func (a *Account) shrink(n int64) {
	if a.reserved > n {
		a.budget.release(a.reserved - n)
		a.reserved = n
	}
}

// Trim gives back what is reserved beyond the bytes in use, now and whenever
// less is in use, until KeepForResults: no more results will be produced.
func (a *Account) Trim() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.results, a.window, a.trimmed = 0, noWindow, true
	a.shrink(a.used)
}

// Close ends the account: nothing more can be taken, blocks are freed, the
// reservation falls to the extents that somebody still maps, and with each of
// those. No goroutine of the job may be at work.
func (a *Account) Close() {
	a.mu.Lock()
	blocks := a.blocks
	a.blocks, a.closed, a.results = nil, true, 0
	for _, b := range blocks {
		a.used -= b.size()
	}
	a.mu.Unlock()
	for _, b := range blocks {
		a.store.putBlock(b)
	}
	a.mu.Lock()
	a.shrink(a.used)
	a.mu.Unlock()
	a.budget.leave(a)
}

// Alloc implements joincore.Memory.
func (a *Account) Alloc(n int64) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("%w: %d bytes", joincore.ErrInvalid, n)
	}
	if n == 0 {
		return []byte{}, nil
	}
	if n > a.budget.total {
		return nil, fmt.Errorf("%w: %d bytes at once", joincore.ErrBudget, n)
	}
	class := classOf(n)
	if _, err := a.take(class, false); err != nil {
		return nil, err
	}
	b, err := a.store.getBlock(class)
	if err != nil {
		a.give(class, noWindow)
		return nil, err
	}
	a.mu.Lock()
	if a.blocks == nil {
		a.blocks = map[*byte]*block{}
	}
	a.blocks[&b.data[0]] = b
	a.mu.Unlock()
	return b.data[:n:n], nil
}

// Free implements joincore.Memory.
func (a *Account) Free(data []byte) {
	if cap(data) == 0 {
		return
	}
	first := &data[:1][0]
	a.mu.Lock()
	b := a.blocks[first]
	delete(a.blocks, first)
	a.mu.Unlock()
	if b == nil {
		panic("memory: Free of what Alloc did not return")
	}
	a.store.putBlock(b)
	a.give(b.size(), noWindow)
}

// Extent takes an extent from the store, with one reference for the caller.
// It goes back with its last reference. result says that it is for a batch of
// results.
func (a *Account) Extent(result bool) (*Extent, error) {
	size := a.store.ExtentSize()
	window, err := a.take(size, result)
	if err != nil {
		return nil, err
	}
	e, err := a.store.getExtent()
	if err != nil {
		a.give(size, window)
		return nil, err
	}
	e.owner, e.window = a, window
	e.refs.Store(1)
	return e, nil
}

// Usage returns the bytes reserved, in use, and in use at the highest.
func (a *Account) Usage() (reserved, used, peak int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reserved, a.used, a.peak
}
