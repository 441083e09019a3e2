//go:build cuda

package driver

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestEventsOrderStreams(t *testing.T) {
	c, s := open(t)
	other, err := c.NewStream()
	must(t, err)
	defer other.Close()
	spin := kernel(t, c, faultPTX, "spin")
	start, err := c.NewEvent(true)
	must(t, err)
	end, err := c.NewEvent(true)
	must(t, err)
	defer start.Close()
	defer end.Close()
	must(t, s.Record(start), spin.Launch(s, 1, uint64(2*time.Second)), s.Record(end), other.Wait(end))
	if done, err := end.Done(); done || err != nil {
		t.Errorf("done before its time: %v, %v", done, err)
	}
	must(t, other.Sync(t.Context()))
	ms, err := end.Since(start)
	must(t, err)
	if done, _ := end.Done(); !done || ms < 1900 {
		t.Errorf("done %v after %v ms", done, ms)
	}
}

func TestSyncEndsWithItsContext(t *testing.T) {
	c, s := open(t)
	spin := kernel(t, c, faultPTX, "spin")
	end, err := c.NewEvent(false)
	must(t, err)
	defer end.Close()
	must(t, spin.Launch(s, 1, uint64(3*time.Second)), s.Record(end))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Sync(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if done, err := end.Done(); done || err != nil {
		t.Errorf("waited for the work after the context had ended: %v, %v", done, err)
	}
	must(t, s.Sync(t.Context()))
	if done, err := end.Done(); !done || err != nil {
		t.Errorf("the work is not done: %v, %v", done, err)
	}
}

// An event that serves many executions does not accumulate cancelled waits.
func TestCancelledWaitsAreForgotten(t *testing.T) {
	c, s := open(t)
	spin := kernel(t, c, faultPTX, "spin")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		must(t, spin.Launch(s, 1, uint64(200*time.Millisecond)))
		if err := s.Sync(cancelled); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		must(t, s.Sync(t.Context()))
	}
	// Each wait drops those that the waiter has finished in the meantime.
	for deadline := time.Now().Add(30 * time.Second); len(s.done.left) > 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d waits are remembered", len(s.done.left))
		}
		if err := s.Sync(cancelled); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func TestWaitsDoNotQueue(t *testing.T) {
	c, s := open(t)
	other, err := c.NewStream()
	must(t, err)
	defer other.Close()
	spin := kernel(t, c, faultPTX, "spin")
	must(t, spin.Launch(s, 1, uint64(3*time.Second)))
	long := make(chan error, 1)
	go func() { long <- s.Sync(context.Background()) }()
	time.Sleep(10 * time.Millisecond) // so that it usually waits by then
	must(t, other.Sync(t.Context()))
	select {
	case err := <-long:
		t.Errorf("an idle stream was waited for until a busy one was done: %v", err)
	default:
		must(t, <-long)
	}
}
