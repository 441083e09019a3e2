package exec

import (
	"sync/atomic"

	"gpujoin/joincore"
)

// meter records the peak of the memory in use.
type meter struct {
	mem       joincore.Memory
	now, peak atomic.Int64
}

func (m *meter) Alloc(n int64) ([]byte, error) {
	b, err := m.mem.Alloc(n)
	if err != nil {
		return nil, err
	}
	now := m.now.Add(int64(len(b)))
	for {
		peak := m.peak.Load()
		if now <= peak || m.peak.CompareAndSwap(peak, now) {
			return b, nil
		}
	}
}

func (m *meter) Free(b []byte) {
	m.now.Add(-int64(len(b)))
	m.mem.Free(b)
}
