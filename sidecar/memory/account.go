package memory

import (
	"fmt"
	"math"
	"sync"

	"gpujoin/joincore"
)

// Account is the memory of one job: the root of the accounts of its join. Its
// limit is the job's reservation from the budget.
type Account struct {
	*joincore.Account
	inputs, results, filters, worker *joincore.Account // parts that take no blocks

	budget *Budget
	store  *Store
	claim  Claim

	// Guarded by the budget's lock:
	booked    int64 // reserved, as the budget counts it
	returning bool  // no quota limits its growth

	mu      sync.Mutex
	kept    int64 // unused bytes that are kept for result batches
	closed  bool
	window  uint32 // current result window, 0: none; its returned batches stay reserved
	windows uint32 // number of windows so far
	trimmed bool   // the reservation shrinks as memory is returned
}

func newAccount(b *Budget, s *Store) *Account {
	a := &Account{budget: b, store: s}
	a.Account = joincore.NewRoot((*blocks)(a))
	a.inputs, a.results = joincore.NewAccount("inputs", a), joincore.NewAccount("results", a)
	a.filters, a.worker = joincore.NewAccount("filters", a), joincore.NewAccount("worker", a)
	return a
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
	kept := a.kept
	if result {
		kept = max(0, kept-n)
	}
	if more := a.Used() + n + kept - a.Limit(); more > 0 {
		if err := a.budget.grow(a, more); err != nil {
			return noWindow, fmt.Errorf("%w: %d bytes in use, %d reserved, %d more needed", err, a.Used(), a.Limit(), n)
		}
		a.AddLimit(more)
	}
	a.kept = kept
	a.Take(n)
	if result {
		window = a.window
	}
	return window, nil
}

// give reverses take. After Close it returns the bytes to the budget.
func (a *Account) give(n int64, window uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Give(n)
	if a.closed || a.trimmed {
		a.shrink(a.Used())
	} else if window == spareWindow {
		a.shrink(a.Limit() - n)
	} else if window != noWindow && window == a.window {
		a.kept += n
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
	for a.kept, a.window = 0, a.windows; n > 0; n-- {
		want := int64(n) * size
		more := max(0, a.Used()+want-a.Limit())
		if more == 0 || a.budget.grow(a, more) == nil {
			a.AddLimit(more)
			a.kept = want
			return n
		}
	}
	return 0
}

// shrink reduces the reservation to n bytes. The caller holds a's lock.
func (a *Account) shrink(n int64) {
	if surplus := a.Limit() - n; surplus > 0 {
		a.budget.release(a, surplus)
		a.AddLimit(-surplus)
	}
}

// Resize changes the reservation of a job that is not fed yet, by its new expectation. It
// reports whether it could: memory is given back at once, but more is had only if it is free.
func (a *Account) Resize(by int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if by > 0 {
		if a.closed || !a.budget.spare(a, by) {
			return false
		}
		a.AddLimit(by)
		return true
	}
	a.shrink(max(a.Used(), a.Limit()+by))
	return true
}

// Trim returns the unused part of the reservation to the budget, now and
// whenever memory is returned, until the next KeepForResults. Call it when a
// run produces no more results.
func (a *Account) Trim() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept, a.window, a.trimmed = 0, noWindow, true
	a.shrink(a.Used())
}

// Close closes the account: it frees all blocks and rejects further
// allocations. Extents that are still mapped stay reserved until each is
// released. No goroutine of the job may be running.
func (a *Account) Close() {
	a.mu.Lock()
	a.closed, a.kept = true, 0
	a.shrink(a.Used())
	a.mu.Unlock()
	a.Account.Close()
	a.budget.leave(a)
}

// blocks are an account as the source of its own memory, a joincore.Memory.
type blocks Account

func (s *blocks) Alloc(n int64) ([]byte, error) {
	a := (*Account)(s)
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
	return b[:n:class], nil
}

func (s *blocks) Free(b []byte) {
	s.store.putBlock(b[:cap(b)])
	(*Account)(s).give(int64(cap(b)), noWindow)
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
	if result {
		return a.extent(a.results, window)
	}
	return a.extent(a.inputs, window)
}

// extent makes an extent, for which take has been called, one of a part.
func (a *Account) extent(of *joincore.Account, window uint32) (*Extent, error) {
	e, err := a.store.getExtent()
	if err != nil {
		a.give(a.store.ExtentSize(), window)
		return nil, err
	}
	of.Take(a.store.ExtentSize())
	e.owner, e.of, e.window = a, of, window
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
	a.AddLimit(size)
	a.Take(size)
	a.mu.Unlock()
	return a.extent(a.filters, spareWindow)
}

// Book charges n bytes that another process maps for the job, because one budget covers all
// processes. The caller must call Unbook; Close does not release booked bytes.
func (a *Account) Book(n int64) error {
	if n < 0 || n > a.budget.total {
		return fmt.Errorf("%w: %d bytes requested at once", joincore.ErrBudget, n)
	}
	if _, err := a.take(n, false); err != nil {
		return err
	}
	if err := a.store.book(n); err != nil {
		a.give(n, noWindow)
		return err
	}
	a.worker.Take(n)
	return nil
}

// Unbook releases n bytes charged by Book.
func (a *Account) Unbook(n int64) {
	a.store.pages.Give(n)
	a.worker.Give(n)
	a.give(n, noWindow)
}

func (s *Store) book(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropStale(n)
	if err := s.makeRoom(n); err != nil {
		return err
	}
	s.pages.Take(n)
	return nil
}
