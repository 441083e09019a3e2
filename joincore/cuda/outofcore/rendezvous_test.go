package outofcore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestAllComeBeforeOneGoesOn(t *testing.T) {
	const n = 8
	r := NewRendezvous(n)
	var come atomic.Int32
	var wait sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range n {
		wait.Go(func() {
			come.Add(1)
			r.Arrive()
			if err := r.Wait(ctx); err != nil || come.Load() != n {
				t.Errorf("one goes on after %d have come: %v", come.Load(), err)
			}
		})
	}
	wait.Wait()
	if err := r.Wait(ctx); err != nil {
		t.Errorf("later: %v", err)
	}
}

// If one fails before it comes, the others' context ends.
func TestWhoNeverComesIsNotAwaited(t *testing.T) {
	r := NewRendezvous(2)
	r.Arrive()
	failed := errors.New("another execution has failed")
	ctx, cancel := context.WithCancelCause(context.Background())
	go cancel(failed)
	if err := r.Wait(ctx); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}
