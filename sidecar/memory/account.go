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
	group  Group

	mu       sync.Mutex
	reserved int64
	used     int64
	peak     int64
	closed   bool
	blocks   map[*byte]*block
}

// take moves n bytes from reserved to used, and reserves more where the
// estimate was too low and the budget has room.
func (a *Account) take(n int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return fmt.Errorf("%w: the job is over", joincore.ErrBudget)
	}
	if more := a.used + n - a.reserved; more > 0 {
		if !a.budget.grow(more) {
			return fmt.Errorf("%w: %d bytes in use, %d reserved, %d more needed", joincore.ErrBudget, a.used, a.reserved, n)
		}
		a.reserved += more
	}
	a.used += n
	a.peak = max(a.peak, a.used)
	return nil
}

// give is the reverse of take. After Close it goes through to the budget.
func (a *Account) give(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= n
	if a.closed {
		a.shrink(a.used)
	}
}

// shrink gives back the reservation beyond n bytes. The caller has locked a.
func (a *Account) shrink(n int64) {
	if a.reserved > n {
		a.budget.release(a.reserved - n)
		a.reserved = n
	}
}

// Trim gives back what is reserved beyond the bytes in use and room more.
func (a *Account) Trim(room int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shrink(a.used + room)
}

// Close ends the account: nothing more can be taken, blocks are freed, the
// reservation falls to the extents that somebody still maps, and with each of
// those. No goroutine of the job may be at work.
func (a *Account) Close() {
	a.mu.Lock()
	blocks := a.blocks
	a.blocks, a.closed = nil, true
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
	class := classOf(n)
	if err := a.take(class); err != nil {
		return nil, err
	}
	b, err := a.store.getBlock(class)
	if err != nil {
		a.give(class)
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
	a.give(b.size())
}

// Extent takes an extent from the store, with one reference for the caller.
// It goes back with its last reference.
func (a *Account) Extent() (*Extent, error) {
	if err := a.take(a.store.ExtentSize()); err != nil {
		return nil, err
	}
	e, err := a.store.getExtent()
	if err != nil {
		a.give(a.store.ExtentSize())
		return nil, err
	}
	e.owner = a
	e.refs.Store(1)
	return e, nil
}

// Usage returns the bytes reserved, in use, and in use at the highest.
func (a *Account) Usage() (reserved, used, peak int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reserved, a.used, a.peak
}
