package cpu

import (
	"sync"
	"sync/atomic"
)

// marks records which build rows have found a partner, one bit per position.
type marks struct {
	once sync.Once
	err  error
	bits []uint32
}

// need allocates the bits of a space, once for all streams.
func (m *marks) need(s *space) error {
	m.once.Do(func() {
		var b []uint32
		if b, m.err = alloc[uint32](s.dev, s.positions()/32+1); m.err != nil {
			return
		}
		clear(b)
		m.bits = b
		s.release = append(s.release, func() { free(s.dev, b) })
	})
	return m.err
}

// set marks a position; it is safe to call from several streams.
func (m *marks) set(p uint32) {
	w, bit := &m.bits[p/32], uint32(1)<<(p%32)
	if atomic.LoadUint32(w)&bit == 0 {
		atomic.OrUint32(w, bit)
	}
}

func (m *marks) has(p uint32) bool {
	return m.bits != nil && atomic.LoadUint32(&m.bits[p/32])>>(p%32)&1 != 0
}
