package encode

import (
	"sync"

	"gpujoin/joincore"
)

// memory is what an execution takes of its job's memory, and frees together.
type memory struct {
	from   joincore.Memory
	mu     sync.Mutex
	blocks [][]byte
}

// alloc returns n bytes of unspecified content.
func (m *memory) alloc(n int) ([]byte, error) {
	b, err := m.from.Alloc(int64(max(n, 1)))
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocks = append(m.blocks, b)
	return b[:n], nil
}

func (m *memory) free() {
	for _, b := range m.blocks {
		m.from.Free(b)
	}
	m.blocks = nil
}
