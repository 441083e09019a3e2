package separate

import (
	"bytes"
	"sync"

	"gpujoin/joincore"
)

// Content of memory before it is written, after it is freed, and of guards behind it.
const (
	fresh = 0xA5
	freed = 0x5A
	guard = 0xC3

	guardBytes = 64
)

// intact is the content of an undamaged guard.
var intact = [guardBytes]byte(bytes.Repeat([]byte{guard}, guardBytes))

// memory is the device's memory. It is never zero before it is written, and
// Free detects writes beyond an allocation.
type memory struct {
	mem  joincore.Memory
	lock sync.Mutex
	live map[*byte][]byte // allocations with their guards
}

func (m *memory) Alloc(n int64) ([]byte, error) {
	b, err := m.mem.Alloc(n + guardBytes)
	if err != nil {
		return nil, err
	}
	fill(b[:n], fresh)
	fill(b[n:], guard)
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.live == nil {
		m.live = map[*byte][]byte{}
	}
	m.live[&b[0]] = b
	return b[:n:n], nil
}

func (m *memory) Free(b []byte) {
	whole := b[:1:1]
	m.lock.Lock()
	all := m.live[&whole[0]]
	delete(m.live, &whole[0])
	m.lock.Unlock()
	if all == nil {
		panic("freed what was not allocated")
	}
	if !bytes.Equal(all[len(all)-guardBytes:], intact[:]) {
		panic("written beyond the end of an allocation")
	}
	fill(all, freed)
	m.mem.Free(all)
}

func fill(b []byte, x byte) {
	if len(b) > 0 {
		b[0] = x
	}
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// copy copies host memory to the device's.
func (m *memory) copy(b []byte) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	c, err := m.Alloc(int64(max(len(b), 1)))
	if err != nil {
		return nil, err
	}
	copy(c, b)
	return c[:len(b)], nil
}
