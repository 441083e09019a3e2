package memory

import (
	"context"
	"time"

	"gpujoin/shm"
)

// Upkeep keeps the store in shape until ctx is done: it gives unused extents
// huge pages, and trims what nobody used for idle.
func (s *Store) Upkeep(ctx context.Context, warm int64, idle time.Duration) {
	tick := time.NewTicker(max(idle/4, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.Trim(warm, idle)
		case <-s.dull:
			for ctx.Err() == nil && s.polish() {
			}
		}
	}
}

// polish gives one unused extent huge pages, and says whether there was one.
// Whoever maps it then, here or in a backend, takes two faults instead of a
// thousand, and misses the TLB less. It costs some milliseconds, which is why
// an extent that is needed now is created without.
func (s *Store) polish() bool {
	s.mu.Lock()
	var e *Extent
	for i, w := range s.warm {
		if !w.polished {
			e = w
			s.warm = append(s.warm[:i], s.warm[i+1:]...)
			break
		}
	}
	s.polishing = e != nil
	s.mu.Unlock()
	if e == nil {
		return false
	}
	// Where the kernel cannot or has no huge page to give, small ones do.
	_ = shm.Collapse(e.Data)
	e.polished = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polishing = false
	s.polished.Broadcast()
	if s.closed {
		s.dropUnlisted(e)
		return false
	}
	s.warm = append(s.warm, e)
	return true
}
