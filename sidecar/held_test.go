package sidecar

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/memory"
)

// dividing adds a residual to a job that divides by the left side's row number
// plus an offset, and is true of every row where that can be computed.
func dividing(job []byte, offset string) []byte {
	return bytes.Replace(job, []byte(`"keys":[`), []byte(`"residual":{"compare":"<>","right":{"int":-7},"left":`+
		`{"fn":"/","width":8,"args":[{"int":1000000},{"fn":"+","width":8,"args":[{"column":{"input":0,"column":1}},{"int":`+offset+`}]}]}},"keys":[`), 1)
}

// TestArithmeticFailsBeforeTheFirstRow: a job that returns many batches before
// one of its rows divides by zero has returned none of them.
func TestArithmeticFailsBeforeTheFirstRow(t *testing.T) {
	rows := tableRows(30_000, 5_000, "x")
	want := joinOf(rows, rows)
	for name, c := range map[string]struct {
		offset string
		window int
		code   shm.Failure // 0: the job succeeds
	}{
		"no error":       {"1", 1 << 10, 0},
		"the last row":   {"-29999", 1 << 10, shm.FailArithmetic},
		"a small window": {"1", 2, shm.FailBudget},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(o *Options) { o.Window = c.window }, nil)
			b := r.dial(0)
			_, err := b.Open(shm.Open{}, dividing(joinJob(30_000, 30_000, 200_000), c.offset))
			must(t, err)
			must(t, b.Feed(0, tableShapes, rows, 0))
			must(t, b.Feed(1, tableShapes, rows, 0))
			must(t, b.Fed(shm.Fed{}))
			err = b.Run(1)
			if c.code != 0 {
				wantFailure(t, err, c.code)
				return
			}
			must(t, err)
			got, err := b.Drain(resultShapes, 4)
			must(t, err)
			sameRows(t, got, want)
		})
	}
}

// TestHeldResultBeyondTheEstimate: several participants get small batches, so
// that each has a part of the result. A held result of more rows than expected
// must not fill the window with them.
func TestHeldResultBeyondTheEstimate(t *testing.T) {
	rows := tableRows(5_000, 1_000, "x")
	want := joinOf(rows, rows)
	if len(want) <= 8*leastPortion {
		t.Fatalf("%d rows fit the window in any case", len(want))
	}
	r := start(t, func(o *Options) { o.Window = 8 }, nil)
	b := r.dial(0)
	got := joined(t, b, shm.Open{Participants: 3}, dividing(joinJob(5_000, 5_000, 10), "1"), rows)
	sameRows(t, got, want)
}

// TestHeldBatchesAreNotSent: without the guard, the first batch would go out.
func TestHeldBatchesAreNotSent(t *testing.T) {
	r := start(t, nil, testBackend(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
		return errors.Join(emit(ctx, sink, 1), joincore.ErrArithmetic)
	}))
	for name, c := range map[string]struct {
		job  []byte
		held bool
	}{
		"held":     {dividing(joinJob(100, 100, 100), "1"), true},
		"streamed": {joinJob(100, 100, 100), false},
	} {
		b := r.dial(0)
		_, err := b.Open(shm.Open{}, c.job)
		must(t, err)
		must(t, b.Fed(shm.Fed{}))
		if err := b.Run(1); c.held {
			wantFailure(t, err, shm.FailArithmetic)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		b.Close()
	}
}

// TestHeldResultRunsAgain: an executor fails when its held batches fill the window. The next
// one may fill the window, too.
func TestHeldResultRunsAgain(t *testing.T) {
	const window = 3 // the least
	fills := testBackend(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
		return emit(ctx, sink, window)
	})
	fails := testBackend(func(ctx context.Context, mem joincore.Memory, sink joincore.Sink) error {
		return errors.Join(fills(ctx, mem, sink), errors.New("the device is gone"))
	})
	r := start(t, func(o *Options) { o.Window = window }, fills, func(*memory.Store) executor.Executor { return fails })
	b := r.dial(0)
	_, err := b.Open(shm.Open{}, dividing(joinJob(100, 100, 100), "1"))
	must(t, err)
	must(t, b.Fed(shm.Fed{}))
	must(t, b.Run(1))
	rows, err := b.Drain(resultShapes, 1)
	must(t, err)
	if len(rows) != window {
		t.Errorf("%d rows instead of %d", len(rows), window)
	}
}
