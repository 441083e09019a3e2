package memory

import (
	"fmt"
	"math"
	"sync"

	"gpujoin/joincore"
)

// Account tracks the memory of one job: its reservation from the budget and how
// much of the reservation is in use. It implements joincore.Memory for the
// job's join.
type Account struct {
	budget *Budget
	store  *Store
	claim  Claim

	// Guarded by the budget's lock:
	booked    int64 // reserved, as the budget counts it
	returning bool  // no quota limits its growth

	mu       sync.Mutex
	reserved int64
	used     int64
	results  int64 // unused bytes that are kept for result batches
	peak     int64
	closed   bool
	window   uint32 // current result window, 0: none; its returned batches stay reserved
	windows  uint32 // number of windows so far
	trimmed  bool   // the reservation shrinks as memory is returned
	blocks   map[*byte]*block
}

// noWindow marks memory that is not used for results.
const noWindow = 0

// spareWindow marks memory whose reservation is given back with it.
const spareWindow = math.MaxUint32

// take moves n bytes from reserved to used. If the estimate was too low, it
// extends the reservation as far as the budget allows. result marks memory for
// a result batch, which may use the bytes set aside by KeepForResults; pass the
// returned window to give.
func (a *Account) take(n int64, result bool) (window uint32, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return noWindow, fmt.Errorf("%w: the job has ended", joincore.ErrBudget)
	}
	kept := a.results
	if result {
		kept = max(0, kept-n)
	}
	if more := a.used + n + kept - a.reserved; more > 0 {
		if err := a.budget.grow(a, more); err != nil {
			return noWindow, fmt.Errorf("%w: %d bytes in use, %d reserved, %d more needed", err, a.used, a.reserved, n)
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

// give reverses take. After Close it returns the bytes to the budget.
func (a *Account) give(n int64, window uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= n
	if a.closed || a.trimmed {
		a.shrink(a.used)
	} else if window == spareWindow {
		a.shrink(a.reserved - n)
	} else if window != noWindow && window == a.window {
		a.results += n
	}
}

// KeepForResults sets aside memory for up to n extents of results, which no
// other allocation of the job can use, and returns for how many extents memory
// was available. Extents of an earlier run that are returned later do not add
// to it.
func (a *Account) KeepForResults(n int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	size := a.store.ExtentSize()
	a.windows++
	a.trimmed = false
	for a.results, a.window = 0, a.windows; n > 0; n-- {
		want := int64(n) * size
		more := max(0, a.used+want-a.reserved)
		if more == 0 || a.budget.grow(a, more) == nil {
			a.reserved += more
			a.results = want
			return n
		}
	}
	return 0
}

// shrink reduces the reservation to n bytes. The caller holds a's lock.
func (a *Account) shrink(n int64) {
	if a.reserved > n {
		a.budget.release(a, a.reserved-n)
		a.reserved = n
	}
}

// Trim returns the unused part of the reservation to the budget, now and
// whenever memory is returned, until the next KeepForResults. Call it when a
// run produces no more results.
func (a *Account) Trim() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.results, a.window, a.trimmed = 0, noWindow, true
	a.shrink(a.used)
}

// Close closes the account: it frees all blocks and rejects further
// allocations. Extents that are still mapped stay reserved until each is
// released. No goroutine of the job may be running.
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
		return nil, fmt.Errorf("%w: %d bytes requested at once", joincore.ErrBudget, n)
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
	size := b.size() // the store may drop the block as soon as it has it
	a.store.putBlock(b)
	a.give(size, noWindow)
}

// Extent takes an extent from the store, with one reference for the caller. The
// extent returns to the store with its last reference. result marks it as a
// result batch. Errors wrap joincore.ErrBudget or ErrStore.
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

// SpareExtent is like Extent, for memory that the job can do without: it uses no
// part of the reservation, so the job cannot fail later because of it, and what it
// reserves goes back to the budget with it.
func (a *Account) SpareExtent() (*Extent, error) {
	size := a.store.ExtentSize()
	a.mu.Lock()
	if a.closed || a.budget.grow(a, size) != nil {
		a.mu.Unlock()
		return nil, fmt.Errorf("%w: no spare extent", joincore.ErrBudget)
	}
	a.reserved += size
	a.used += size
	a.peak = max(a.peak, a.used)
	a.mu.Unlock()
	e, err := a.store.getExtent()
	if err != nil {
		a.give(size, spareWindow)
		return nil, err
	}
	e.owner, e.window = a, spareWindow
	e.refs.Store(1)
	return e, nil
}

// Usage returns the bytes reserved, the bytes in use, and the peak of the bytes
// in use.
func (a *Account) Usage() (reserved, used, peak int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reserved, a.used, a.peak
}
