package suite

import (
	"sync"

	"gpujoin/joincore"
)

// Reuse is a Memory that keeps freed blocks for allocations of the same size, so
// that a benchmark does not measure page faults. The caller must call Close.
type Reuse struct {
	Memory joincore.Memory

	lock sync.Mutex
	idle map[int64][][]byte
}

func (r *Reuse) Alloc(n int64) ([]byte, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if list := r.idle[n]; len(list) > 0 {
		r.idle[n] = list[:len(list)-1]
		return list[len(list)-1], nil
	}
	return r.Memory.Alloc(n)
}

func (r *Reuse) Free(b []byte) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.idle == nil {
		r.idle = map[int64][][]byte{}
	}
	r.idle[int64(len(b))] = append(r.idle[int64(len(b))], b)
}

// Close frees the blocks.
func (r *Reuse) Close() {
	for _, list := range r.idle {
		for _, b := range list {
			r.Memory.Free(b)
		}
	}
	r.idle = nil
}
