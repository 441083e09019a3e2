package memory

import (
	"context"
	"time"
)

// Upkeep runs until ctx is done. Whenever the store has been idle for the
// duration idle, it returns kept memory beyond warm bytes of extents to the
// system.
func (s *Store) Upkeep(ctx context.Context, warm int64, idle time.Duration) {
	tick := time.NewTicker(max(idle/4, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.Trim(warm, idle)
		}
	}
}

// Trim returns kept memory beyond warm bytes of extents to the system if no
// memory was taken or returned for the duration idle. It stops early when the
// store is used.
func (s *Store) Trim(warm int64, idle time.Duration) {
	for s.trimOne(warm, idle) {
	}
}

// trimOne drops one block or extent, and reports whether there was one.
func (s *Store) trimOne(warm int64, idle time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.lastUse) < idle {
		return false
	}
	switch {
	case len(s.doomed) > 0:
	case s.kept.Used() > 0:
		s.doomBlock(s.popBlock(s.largestKept()))
	case len(s.warm) > 0 && int64(s.extents)*s.extentSize > warm:
		s.doomExtent(s.popExtent())
	default:
		return false
	}
	s.destroyOne()
	return true
}
