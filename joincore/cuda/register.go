package cuda

import (
	"cmp"
	"slices"
	"sync"
	"unsafe"
)

// ranges holds the host memory ranges that are registered with a device. It is
// safe for concurrent use.
type ranges struct {
	mu   sync.RWMutex
	list []span // in order of address, never two overlapping
}

func spanOf(b []byte) span {
	return span{int64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))), int64(len(b))}
}

func (r *ranges) find(at int64) (int, bool) {
	return slices.BinarySearchFunc(r.list, at, func(s span, at int64) int { return cmp.Compare(s.at, at) })
}

func (r *ranges) add(b []byte) {
	s := spanOf(b)
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := r.find(s.at)
	r.list = slices.Insert(r.list, i, s)
}

func (r *ranges) remove(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i, ok := r.find(spanOf(b).at); ok {
		r.list = slices.Delete(r.list, i, i+1)
	}
}

// holds reports whether b is within one registered range.
func (r *ranges) holds(b []byte) bool {
	s := spanOf(b)
	r.mu.RLock()
	defer r.mu.RUnlock()
	i, ok := r.find(s.at)
	if !ok {
		i--
	}
	return i >= 0 && s.at+s.bytes <= r.list[i].at+r.list[i].bytes
}

// pageLocks tracks the host memory that this process has page-locked. A lock
// applies to all devices and memory cannot be locked twice, so providers that
// register the same memory share a lock. It is safe for concurrent use.
type pageLocks struct {
	mu     sync.Mutex
	pieces map[span]*pageLock
}

type pageLock struct {
	users  int
	unlock func()
}

// take calls lock unless the memory is already locked. The last release unlocks
// it.
func (l *pageLocks) take(mem []byte, lock func() (unlock func(), err error)) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	piece := spanOf(mem)
	p := l.pieces[piece]
	if p == nil {
		unlock, err := lock()
		if err != nil {
			return nil, err
		}
		if l.pieces == nil {
			l.pieces = map[span]*pageLock{}
		}
		p = &pageLock{unlock: unlock}
		l.pieces[piece] = p
	}
	p.users++
	return func() { l.release(piece) }, nil
}

func (l *pageLocks) release(piece span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pieces[piece]
	if p.users--; p.users == 0 {
		delete(l.pieces, piece)
		p.unlock()
	}
}
