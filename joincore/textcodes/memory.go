package textcodes

import (
	"sync"

	"gpujoin/joincore"
)

// memory is what an execution takes of its job's memory. free frees what release has not.
type memory struct {
	from   joincore.Memory
	mu     sync.Mutex
	blocks map[*byte][]byte // by their first byte
}

// alloc returns n bytes of unspecified content.
func (m *memory) alloc(n int) ([]byte, error) {
	b, err := m.from.Alloc(int64(max(n, 1)))
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blocks == nil {
		m.blocks = map[*byte][]byte{}
	}
	m.blocks[&b[0]] = b
	return b[:n], nil
}

// release frees what alloc has returned; nil: nothing.
func (m *memory) release(b []byte) {
	if cap(b) == 0 {
		return
	}
	first := &b[:1][0]
	m.mu.Lock()
	whole := m.blocks[first]
	delete(m.blocks, first)
	m.mu.Unlock()
	m.from.Free(whole)
}

func (m *memory) free() {
	for _, b := range m.blocks {
		m.from.Free(b)
	}
	m.blocks = nil
}
