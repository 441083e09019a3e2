package device_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

func protected(f func()) (err error) {
	defer device.Recover(&err)
	f()
	return nil
}

func TestPanicsBecomeErrors(t *testing.T) {
	values, index := []int{1}, 5
	if err := protected(func() { values[index]++ }); !errors.Is(err, joincore.ErrInvalid) {
		t.Errorf("index out of range: %v", err)
	}
	err := protected(func() { panic("broken") })
	var p *device.Panic
	if !errors.As(err, &p) || errors.Is(err, joincore.ErrInvalid) || err.Error() != "join failed: broken" {
		t.Errorf("panic: %v", err)
	} else if !strings.Contains(string(p.Stack), "recover_test.go") {
		t.Errorf("stack: %s", p.Stack)
	}
	if err := protected(func() {}); err != nil {
		t.Errorf("no panic: %v", err)
	}
}

func TestKeysAreExactWhereTheyFit(t *testing.T) {
	fixed := func(w int) joincore.Column { return joincore.Column{Kind: joincore.Fixed, Width: w} }
	columns := []joincore.Column{fixed(8), fixed(4), fixed(2), fixed(16), {Kind: joincore.Varlena, Align: 4}}
	columnOf := func(c joincore.ColumnRef) joincore.Column { return columns[c.Column] }
	for _, c := range []struct {
		left, right []int // columns
		class       joincore.KeyClass
		exact       bool
	}{
		{[]int{0}, []int{0}, joincore.KeyInt, true},
		{[]int{2}, []int{0}, joincore.KeyInt, true},
		{[]int{1, 1}, []int{1, 2}, joincore.KeyInt, true},
		{[]int{1, 2}, []int{1, 0}, joincore.KeyInt, false}, // 4 and, as wide as the other side, 8 bytes
		{[]int{1, 2, 2, 2}, []int{1, 2, 2, 2}, joincore.KeyInt, false},
		{[]int{3}, []int{3}, joincore.KeyBytes, false},
		{[]int{4}, []int{4}, joincore.KeyVarlena, false},
		{nil, nil, joincore.KeyInt, true},
	} {
		var pairs []joincore.KeyPair
		for i := range c.left {
			pairs = append(pairs, joincore.KeyPair{
				Left: joincore.ColumnRef{Column: c.left[i]}, Right: joincore.ColumnRef{Input: 1, Column: c.right[i]}, Class: c.class,
			})
		}
		left, right := device.Keys(pairs, columnOf)
		if left.Exact != c.exact || right.Exact != c.exact {
			t.Errorf("columns %v = %v: exact %v, %v", c.left, c.right, left.Exact, right.Exact)
		}
		for i := range left.Parts {
			if left.Parts[i].Bits != right.Parts[i].Bits {
				t.Errorf("columns %v = %v: part %d has %d and %d bits", c.left, c.right, i, left.Parts[i].Bits, right.Parts[i].Bits)
			}
		}
	}
}

func TestKeyRange(t *testing.T) {
	var r device.KeyRange
	if r.Dense(1 << 20) {
		t.Error("no keys are dense")
	}
	for _, o := range []device.KeyRange{{Rows: 10, Low: -5, High: 4}, {}, {Rows: 10, Low: 100_000, High: 100_009}} {
		r.Merge(o)
	}
	if r != (device.KeyRange{Rows: 20, Low: -5, High: 100_009}) {
		t.Errorf("merged: %+v", r)
	}
	whole := device.KeyRange{Rows: 1 << 40, Low: -1 << 63, High: 1<<63 - 1}
	for _, c := range []struct {
		keys        device.KeyRange
		probe       int64
		dense, very bool
	}{
		{r, 0, false, false},
		{r, 200_000, true, true}, // much smaller than the probe side
		{device.KeyRange{Rows: 10_000, Low: 1, High: 40_000}, 0, true, true},
		{device.KeyRange{Rows: 10_000, Low: 1, High: 80_000}, 0, true, false},
		{device.KeyRange{Rows: 10_000, Low: 1, High: 90_000}, 0, false, false},
		{whole, 1 << 40, false, false},
	} {
		if c.keys.Dense(c.probe) != c.dense || c.keys.VeryDense(c.probe) != c.very {
			t.Errorf("%+v probed by %d: dense %v, very %v", c.keys, c.probe, c.keys.Dense(c.probe), c.keys.VeryDense(c.probe))
		}
	}
}

// TestWorkersDivideTasks: each task is dealt once, until a worker fails or the context ends. The
// cause is returned.
func TestWorkersDivideTasks(t *testing.T) {
	const n = 1000
	run := func(ctx context.Context, task func(i int) error) error {
		tasks := device.NewTasks(n)
		return device.Workers(ctx, 4, func(ctx context.Context, _ int) error {
			for i := range tasks.Deal(ctx, device.Unlimited{}) {
				if err := task(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var done [n]atomic.Int32
	if err := run(t.Context(), func(i int) error { done[i].Add(1); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range done {
		if got := done[i].Load(); got != 1 {
			t.Errorf("task %d was dealt %d times", i, got)
		}
	}
	broken := errors.New("broken")
	fails := func(i int) error {
		if i == n/2 {
			return broken
		}
		return nil
	}
	if err := run(t.Context(), fails); !errors.Is(err, broken) {
		t.Errorf("a task that fails: %v", err)
	}
	values := []int{}
	if err := run(t.Context(), func(i int) error { values[i]++; return nil }); !errors.Is(err, joincore.ErrInvalid) {
		t.Errorf("a task that panics: %v", err)
	}
	ended, end := context.WithCancelCause(t.Context())
	end(broken)
	if err := run(ended, func(int) error { t.Error("a task after the end"); return nil }); !errors.Is(err, broken) {
		t.Errorf("after the end: %v", err)
	}
}
