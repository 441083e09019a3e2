package cuda

import "sync"

// pageLocks are the pieces of host memory that this process has page-locked. A
// lock holds for all devices, and a piece cannot be locked twice: providers
// that register the same memory share one. It is safe for concurrent use.
type pageLocks struct {
	mu     sync.Mutex
	pieces map[span]*pageLock
}

type pageLock struct {
	users  int
	unlock func()
}

// take page-locks memory by lock, unless that is done. The last one who
// releases a piece unlocks it.
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
