package memory

import (
	"context"
	"time"
)

// Upkeep trims the store until ctx is done: what is kept beyond warm bytes of
// extents goes back to the system when nothing was taken or given back for idle.
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

// Trim drops what is kept beyond warm bytes of extents if nothing was taken
// or given back for idle. It ends early when something is. Giving pages back
// takes the kernel up to a second for some gigabytes: the store serves others
// meanwhile.
func (s *Store) Trim(warm int64, idle time.Duration) {
	for s.trimOne(warm, idle) {
	}
}

// trimOne drops one block or extent, and says whether there was one. Its bytes
// count until they are given back; who needs them waits for that.
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
	if s.beforeTrim != nil {
		s.beforeTrim()
	}
	destroy()
	s.mu.Lock()
	s.physical -= size
	s.trimming = false
	s.trimmed.Broadcast()
	return true
}
