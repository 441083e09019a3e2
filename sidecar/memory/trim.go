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
// store is used. Returning pages takes the kernel up to a second for several
// gigabytes; the store serves other callers meanwhile.
func (s *Store) Trim(warm int64, idle time.Duration) {
	for s.trimOne(warm, idle) {
	}
}

// trimOne drops one block or extent, and reports whether there was one. Its
// bytes count until the system has them back; a caller that needs them waits.
func (s *Store) trimOne(warm int64, idle time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.trimming {
		s.trimmed.Wait()
	}
	if time.Since(s.lastUse) < idle {
		return false
	}
	var size int64
	var destroy func()
	switch {
	case s.kept > 0:
		b := s.popBlock(s.largestKept())
		size, destroy = b.size(), b.destroy
	case len(s.warm) > 0 && int64(s.extents)*s.extentSize > warm:
		e := s.popExtent()
		s.forget(e)
		size, destroy = s.extentSize, e.destroy
	default:
		return false
	}
	s.trimming = true
	s.mu.Unlock()
	if s.hooks.beforeTrim != nil {
		s.hooks.beforeTrim()
	}
	destroy()
	s.mu.Lock()
	s.physical -= size
	s.trimming = false
	s.trimmed.Broadcast()
	return true
}
