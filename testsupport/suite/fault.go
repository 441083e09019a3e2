package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/exec"
)

// faultCase is a join with everything that allocates or can fail.
func faultCase(a joincore.Algorithm, seed uint64) joinCase {
	return joinCase{
		algorithm: a, kind: joincore.Full, keys: int4AndVarlena, dist: duplicatesNulls,
		left: 300, right: 200, segment: 64, chunk: 32, emit: 40, batch: 50, bits: 3, streams: 2, residual: true, seed: seed,
	}
}

// Allocations: whichever allocation fails first, the join returns its error and leaks
// nothing.
func Allocations(t *testing.T, s Subject) {
	if s.OwnMemory {
		t.Skip("the provider's memory is its own")
	}
	step := 1
	if testing.Short() || Race {
		step = 9
	}
	tree, treeInputs := RandomTree(16, 4)
	for _, a := range s.Algorithms {
		c := faultCase(a, 1)
		plan, inputs := c.plan()
		fails := func(failAt int, plan *joincore.Plan, inputs []*joincore.Relation) bool {
			name := fmt.Sprintf("%v, %d inputs, allocation %d", a, len(inputs), failAt)
			mem, sink := &Arena{FailAt: failAt}, NewCollector(plan, c.batch)
			err := Run(t.Context(), s.Provider, plan, inputs, mem, sink, c.options(), nil)
			mem.empty(t, name)
			sink.closed(t, name)
			if err != nil && !errors.Is(err, joincore.ErrBudget) {
				t.Fatalf("%s: %v", name, err)
			}
			return err != nil
		}
		failAt := 1
		for fails(failAt, plan, inputs) {
			fails(failAt, tree, treeInputs)
			failAt += step
		}
		if failAt < 3 {
			t.Fatalf("%v: only %d allocations", a, failAt)
		}
	}
}

// blocked is a Sink that fails, cancels or blocks at its n-th call.
type blocked struct {
	*Collector
	calls atomic.Int64
	at    int64
	do    func(context.Context) error
}

func (b *blocked) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	if b.calls.Add(1) == b.at {
		if err := b.do(ctx); err != nil {
			return nil, err
		}
	}
	return b.Collector.NewBatch(ctx, heap)
}

func (b *blocked) Emit(ctx context.Context, batch *joincore.Batch, rows int, heap []int) error {
	if b.calls.Add(1) == b.at {
		if err := b.do(ctx); err != nil {
			b.Discard(batch)
			return err
		}
	}
	return b.Collector.Emit(ctx, batch, rows, heap)
}

// Sink: the join returns a sink's error unchanged, or a cancelled context's cause, and
// frees everything.
func Sink(t *testing.T, s Subject) {
	errSink := errors.New("sink failed")
	for _, a := range s.Algorithms {
		for at := int64(1); at < 12; at++ {
			c := faultCase(a, uint64(at))
			plan, inputs := c.plan()
			for _, cancels := range []bool{false, true} {
				name := fmt.Sprintf("%v, call %d, cancels %v", a, at, cancels)
				ctx, cancel := context.WithCancelCause(t.Context())
				sink := &blocked{Collector: NewCollector(plan, 10), at: at, do: func(ctx context.Context) error {
					if !cancels {
						return errSink
					}
					cancel(errSink)
					<-ctx.Done() // like a sink that waits for credits
					return context.Cause(ctx)
				}}
				mem := &Arena{}
				err := Run(ctx, s.Provider, plan, inputs, mem, sink, c.options(), nil)
				cancel(nil)
				if !errors.Is(err, errSink) {
					t.Fatalf("%s: %v", name, err)
				}
				mem.empty(t, name)
				sink.closed(t, name)
			}
		}
	}
}

// Cancel: a join with a huge result ends with its context, in every phase and for every
// algorithm.
func Cancel(t *testing.T, s Subject) {
	one := generate(rand.New(rand.NewPCG(1, 2)), treeKeys, 300_000, 1<<15, oneKey)
	inputs := []*joincore.Relation{one, one}
	plan := PairPlan(one, one)
	plan.Output = []joincore.ColumnRef{{Input: 0, Column: 0}}
	for _, a := range s.Algorithms {
		for _, kind := range []joincore.Kind{joincore.Inner, joincore.Full} {
			plan.Root.(*joincore.Join).Kind = kind
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			mem, sink := &Arena{}, NewDiscarder(Int64Columns(1), 4, 1<<14)
			start := time.Now()
			err := Run(ctx, s.Provider, plan, inputs, mem, sink, exec.Options{
				Decide: func(_ int, d costmodel.Decision) costmodel.Decision { d.Algorithm = a; return d },
			}, nil)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%v: %v", a, err)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("%v: cancelled only after %v", a, took)
			}
			mem.empty(t, a.String())
			if !sink.idle() {
				t.Fatalf("%v: batches not given back", a)
			}
		}
	}
}
