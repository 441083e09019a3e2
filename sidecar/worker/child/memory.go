package child

import (
	"fmt"
	"math"
	"sync"

	"gpujoin/joincore"
	"gpujoin/shm"
)

// bookingStep is the minimum number of bytes per booking, so that not every
// allocation waits for the daemon.
const bookingStep = 16 << 20

// mappings are the memory of one run: private mappings that are booked with the
// daemon first, so that one budget covers both processes. Pages are allocated on first
// touch, since a provider may allocate only to reserve budget for memory that it gets
// elsewhere.
type mappings struct {
	book    func(n int64) error // asks the daemon
	mu      sync.Mutex
	account *joincore.Account // its limit is what was booked
}

func newMemory(book func(int64) error) *joincore.Account {
	m := &mappings{book: book}
	m.account = joincore.NewRoot(m)
	return m.account
}

// Alloc implements joincore.Memory. It books what n more bytes need: a full step
// or, if the budget refuses that, just the missing bytes.
func (m *mappings) Alloc(n int64) ([]byte, error) {
	if n > math.MaxInt64/2 {
		return nil, fmt.Errorf("%w: %d bytes", joincore.ErrInvalid, n)
	}
	size := (n + pageSize - 1) / pageSize * pageSize
	m.mu.Lock()
	defer m.mu.Unlock()
	if missing := m.account.Used() + size - m.account.Limit(); missing > 0 {
		booked := max(missing, bookingStep)
		if m.book(booked) != nil {
			booked = missing
			if err := m.book(booked); err != nil {
				return nil, err
			}
		}
		m.account.AddLimit(booked)
	}
	b, err := shm.MapPrivate(int(size))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", joincore.ErrBudget, err)
	}
	m.account.Take(size)
	return b[:n:size], nil
}

func (m *mappings) Free(b []byte) {
	_ = shm.Unmap(b[:cap(b)]) // fails only for a mapping that is not ours
	m.account.Give(int64(cap(b)))
}
