package cuda

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestAllComeBeforeOneGoesOn(t *testing.T) {
	const n = 8
	r := newRendezvous(n)
	var come atomic.Int32
	var wait sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range n {
		wait.Go(func() {
			come.Add(1)
			r.arrive()
			if err := r.wait(ctx); err != nil || come.Load() != n {
				t.Errorf("one goes on after %d have come: %v", come.Load(), err)
			}
		})
	}
	wait.Wait()
	if err := r.wait(ctx); err != nil {
		t.Errorf("later: %v", err)
	}
}

// If one fails before it comes, the others' context ends.
func TestWhoNeverComesIsNotAwaited(t *testing.T) {
	r := newRendezvous(2)
	r.arrive()
	failed := errors.New("another execution has failed")
	ctx, cancel := context.WithCancelCause(context.Background())
	go cancel(failed)
	if err := r.wait(ctx); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	if err := r.wait(context.Background()); err != nil {
		t.Errorf("without an end: %v", err)
	}
}
