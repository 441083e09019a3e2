package cuda

import "sync"

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
