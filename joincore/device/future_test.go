package device_test

import (
	"context"
	"errors"
	"testing"

	"gpujoin/joincore/device"
)

func TestFuturesHaveOneOutcome(t *testing.T) {
	if f := device.Known(7); f.At() != device.Host {
		t.Errorf("a known value is at %d", f.At())
	} else if n, err := f.Wait(t.Context()); n != 7 || err != nil {
		t.Errorf("known: %d, %v", n, err)
	}
	calls, failed := 0, errors.New("failed")
	for _, want := range []error{nil, failed} {
		calls = 0
		f := device.Pending(3, func(context.Context) (int64, error) { calls++; return int64(calls), want })
		copied := f
		for _, f := range []device.Count{f, copied, f} {
			if n, err := f.Wait(t.Context()); n != 1 || !errors.Is(err, want) || f.At() != 3 {
				t.Errorf("%d, %v of device %d", n, err, f.At())
			}
		}
		if calls != 1 {
			t.Errorf("waited %d times", calls)
		}
	}
}

func TestACancelledWaitIsFinal(t *testing.T) {
	cause := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(cause)
	f := device.Pending(0, func(ctx context.Context) ([]int64, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	for _, ctx := range []context.Context{ctx, t.Context()} {
		if _, err := f.Wait(ctx); !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
	}
}
