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

// memory is the joincore.Memory of one run: private mappings that are booked
// with the daemon first. Pages are allocated on first touch, since a provider
// may allocate only to reserve budget for memory that it gets elsewhere.
// Extents are used only for memory that both processes read; the budget covers
// both kinds.
type memory struct {
	book func(n int64) error // asks the daemon

	mu           sync.Mutex
	booked, used int64
	blocks       map[*byte][]byte // mappings
}

func newMemory(book func(int64) error) *memory {
	return &memory{book: book, blocks: map[*byte][]byte{}}
}

// Alloc implements joincore.Memory.
func (m *memory) Alloc(n int64) ([]byte, error) {
	switch {
	case n == 0:
		return []byte{}, nil
	case n < 0 || n > math.MaxInt64/2:
		return nil, fmt.Errorf("%w: %d bytes", joincore.ErrInvalid, n)
	}
	size := (n + pageSize - 1) / pageSize * pageSize
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.reserve(size); err != nil {
		return nil, err
	}
	b, err := shm.MapPrivate(int(size))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", joincore.ErrBudget, err)
	}
	m.used += size
	m.blocks[&b[0]] = b
	return b[:n:size], nil
}

// reserve books the missing part of n more bytes: a full step or, if the budget
// refuses that, just the missing bytes. The caller holds m's lock.
func (m *memory) reserve(n int64) error {
	missing := m.used + n - m.booked
	if missing <= 0 {
		return nil
	}
	if step := max(missing, bookingStep); m.book(step) == nil {
		m.booked += step
		return nil
	}
	if err := m.book(missing); err != nil {
		return err
	}
	m.booked += missing
	return nil
}

// Free implements joincore.Memory.
func (m *memory) Free(b []byte) {
	if cap(b) == 0 {
		return
	}
	first := &b[:1][0]
	m.mu.Lock()
	defer m.mu.Unlock()
	mapping, ok := m.blocks[first]
	if !ok {
		panic("child: Free of what Alloc did not return")
	}
	delete(m.blocks, first)
	m.used -= int64(cap(b))
	_ = shm.Unmap(mapping) // fails only for a mapping that is not ours
}

// close frees the remaining blocks and returns their number, which is 0 unless
// a provider leaks.
func (m *memory) close() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.blocks)
	for _, mapping := range m.blocks {
		_ = shm.Unmap(mapping)
	}
	m.blocks = nil
	return n
}
