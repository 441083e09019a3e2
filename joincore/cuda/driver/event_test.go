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
	must(t, s.Record(start), spin.Launch(s, 1, uint64(20*time.Millisecond)), s.Record(end), other.Wait(end))
	if done, err := end.Done(); done || err != nil {
		t.Errorf("done before its time: %v, %v", done, err)
	}
	must(t, other.Sync(t.Context()))
	ms, err := end.Since(start)
	must(t, err)
	if done, _ := end.Done(); !done || ms < 20 || ms > 1000 {
		t.Errorf("done %v after %v ms", done, ms)
	}
}

func TestSyncEndsWithItsContext(t *testing.T) {
	c, s := open(t)
	spin := kernel(t, c, faultPTX, "spin")
	must(t, spin.Launch(s, 1, uint64(300*time.Millisecond)))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := s.Sync(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 200*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	must(t, s.Sync(t.Context()))
	if time.Since(start) < 250*time.Millisecond {
		t.Errorf("work of 300 ms done after %v", time.Since(start))
	}
}

// An event that serves many executions does not gather the waits that were
// cancelled.
func TestCancelledWaitsAreForgotten(t *testing.T) {
	c, s := open(t)
	spin := kernel(t, c, faultPTX, "spin")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		must(t, spin.Launch(s, 1, uint64(5*time.Millisecond)))
		if err := s.Sync(cancelled); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		must(t, s.Sync(t.Context()))
		time.Sleep(2 * time.Millisecond) // until the waiter has asked, too
	}
	if n := len(s.done.left); n > 2 {
		t.Errorf("%d waits are remembered", n)
	}
}

func TestWaitsDoNotQueue(t *testing.T) {
	c, s := open(t)
	other, err := c.NewStream()
	must(t, err)
	defer other.Close()
	spin := kernel(t, c, faultPTX, "spin")
	must(t, spin.Launch(s, 1, uint64(300*time.Millisecond)))
	long := make(chan error, 1)
	go func() { long <- s.Sync(context.Background()) }()
	time.Sleep(10 * time.Millisecond)
	start := time.Now()
	must(t, other.Sync(t.Context()))
	if d := time.Since(start); d > 100*time.Millisecond {
		t.Errorf("an idle stream was waited for %v", d)
	}
	must(t, <-long)
}
