package sqltest

import (
	"sync"
	"testing"
)

// Shared is a world that the first test starts and that every test leaves unchanged.
type Shared[World any] struct {
	Start func() (World, error)
	Stop  func(World) error

	mu      sync.Mutex
	started bool
	world   World
}

// Get returns the world.
func (s *Shared[World]) Get(t testing.TB) World {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		w, err := s.Start()
		if err != nil {
			t.Fatal(err)
		}
		s.world, s.started = w, true
	}
	return s.world
}

func (s *Shared[World]) close() error {
	if !s.started {
		return nil
	}
	return s.Stop(s.world)
}
