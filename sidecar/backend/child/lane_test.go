package child

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(Device{Jobs: 2})
		for range 2 {
			if err := l.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		if err := l.enter(t.Context()); !errors.Is(err, errBusy) || time.Since(start) != lanePatience {
			t.Errorf("the third job: %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.enter(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a job that was cancelled: %v", err)
		}
		waiting := make(chan error)
		go func() { waiting <- l.enter(t.Context()) }()
		synctest.Wait()
		if n := l.load(); n != 3 {
			t.Errorf("%d jobs, 2 of them with the device and 1 that waits", n)
		}
		l.leave()
		if err := <-waiting; err != nil {
			t.Errorf("a job that waited for another one to end: %v", err)
		}
		l.leave()
		l.leave()
		if n := l.load(); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
	})
}
