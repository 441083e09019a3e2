package outofcore

import "sync"

// sharedPool is a pool that several devices use: a page lock applies to all devices, so a
// slab that a join on one of them has left serves a join on any other. A join on two
// devices would otherwise find unlocked slabs whenever a device partitions more windows
// than it did before. The zero value is ready to use.
type sharedPool struct {
	mu    sync.Mutex
	pool  *Pool // nil: no device is open
	users int
	free  func() // frees what the pool's locks need
}

// open returns the pool. The first user makes it; free is called when the last one has
// closed it.
func (s *sharedPool) open(newPool func() (p *Pool, free func(), err error)) (*Pool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pool == nil {
		var err error
		if s.pool, s.free, err = newPool(); err != nil {
			s.pool = nil
			return nil, err
		}
	}
	s.users++
	return s.pool, nil
}

// close must be called once by each user. The last one frees all slabs.
func (s *sharedPool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	s.pool.Close()
	s.free()
	s.pool, s.free = nil, nil
}
