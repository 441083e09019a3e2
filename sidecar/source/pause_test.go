package source

import (
	"context"
	"testing"
	"time"
)

// A pause ends soon when somebody waits for the source.
func TestPauseEndsWhenAwaited(t *testing.T) {
	s := &Session{ctx: context.Background(), hurry: make(chan struct{}, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.pause(time.Hour)
	}()
	done := s.wait()
	<-ended
	if done(); s.awaited() {
		t.Error("nobody waits any more")
	}
}
