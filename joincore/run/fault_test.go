package run_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gpujoin/joincore"
	"gpujoin/joincore/choose"
	"gpujoin/joincore/run"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faultCase is a join with everything in it that allocates or can go wrong.
func faultCase(a joincore.Algorithm, seed uint64) (config, *joincore.Plan, []*joincore.Relation) {
	c := config{
		provider: providers[0], algorithm: a, kind: joincore.Full, keys: keyTypes[10], dist: distributions[3],
		left: 300, right: 200, segment: 64, chunk: 32, batch: 50, bits: 3, streams: 2, residual: true, seed: seed,
	}
	plan, inputs := c.plan()
	return c, plan, inputs
}

func sinkFor(plan *joincore.Plan, batch int) *collect {
	s := &collect{capacity: batch, heap: 64 * batch}
	for _, c := range plan.Output {
		s.columns = append(s.columns, plan.Inputs[c.Input].Columns[c.Column])
	}
	return s
}

// TestEveryAllocationMayFail: whichever allocation is the first to fail, the
// error says so and nothing is leaked.
func TestEveryAllocationMayFail(t *testing.T) {
	for _, p := range providers {
		for _, a := range algorithms {
			c, plan, inputs := faultCase(a, 1)
			c.provider = p
			trees, treeInputs := treeCase(16, 4, kinds)
			failAt, step := 1, 1
			if testing.Short() || raceDetector {
				step = 9
			}
			for ; ; failAt += step {
				mem, sink := &arena{failAt: failAt}, sinkFor(plan, c.batch)
				err := run.Run(t.Context(), p, plan, inputs, mem, sink, c.options(), nil)
				if mem.inUse != 0 || sink.open != 0 {
					t.Fatalf("%v, allocation %d: %d bytes and %d batches leaked", a, failAt, mem.inUse, sink.open)
				}
				if err == nil {
					break
				}
				if !errors.Is(err, joincore.ErrBudget) {
					t.Fatalf("%v, allocation %d: %v", a, failAt, err)
				}
				mem, sink = &arena{failAt: failAt}, sinkFor(trees, c.batch)
				err = run.Run(t.Context(), p, trees, treeInputs, mem, sink, c.options(), nil)
				if mem.inUse != 0 || sink.open != 0 || err != nil && !errors.Is(err, joincore.ErrBudget) {
					t.Fatalf("tree, %v, allocation %d: %d bytes, %d batches, %v", a, failAt, mem.inUse, sink.open, err)
				}
			}
			if failAt < 3 {
				t.Fatalf("%v: only %d allocations", a, failAt)
			}
		}
	}
}

// blocked is a Sink that fails, cancels or waits at its n-th call.
type blocked struct {
	*collect
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
	return b.collect.NewBatch(ctx, heap)
}

func (b *blocked) Emit(ctx context.Context, batch *joincore.Batch, rows int, heap []int) error {
	if b.calls.Add(1) == b.at {
		if err := b.do(ctx); err != nil {
			b.Discard(batch)
			return err
		}
	}
	return b.collect.Emit(ctx, batch, rows, heap)
}

// TestSinkMayFailOrCancel: an error of the sink comes back as it is, a
// cancelled context as its cause, with everything freed.
func TestSinkMayFailOrCancel(t *testing.T) {
	errSink := errors.New("sink failed")
	for _, p := range providers {
		for _, a := range algorithms {
			for at := int64(1); at < 12; at++ {
				c, plan, inputs := faultCase(a, uint64(at))
				for _, cancels := range []bool{false, true} {
					ctx, cancel := context.WithCancelCause(t.Context())
					sink := &blocked{collect: sinkFor(plan, 10), at: at, do: func(ctx context.Context) error {
						if !cancels {
							return errSink
						}
						cancel(errSink)
						<-ctx.Done() // a sink that waits for credits
						return context.Cause(ctx)
					}}
					mem := &arena{}
					err := run.Run(ctx, p, plan, inputs, mem, sink, c.options(), nil)
					cancel(nil)
					if !errors.Is(err, errSink) {
						t.Fatalf("%v, call %d, cancels %v: %v", a, at, cancels, err)
					}
					if mem.inUse != 0 || sink.open != 0 {
						t.Fatalf("%v, call %d, cancels %v: %d bytes, %d batches leaked", a, at, cancels, mem.inUse, sink.open)
					}
				}
			}
		}
	}
}

// TestCancelStopsAnExplosion: a join whose result nobody can wait for ends
// with its context, in every phase and for every algorithm.
func TestCancelStopsAnExplosion(t *testing.T) {
	one := generate(rand.New(rand.NewPCG(1, 2)), treeKeys, 300_000, 1<<15, distributions[5])
	for _, a := range algorithms {
		for _, kind := range []joincore.Kind{joincore.Inner, joincore.Full} {
			plan := &joincore.Plan{
				Inputs: []joincore.Input{{Columns: one.Columns}, {Columns: one.Columns}},
				Root: &joincore.Join{Kind: kind, Left: &joincore.Scan{}, Right: &joincore.Scan{Input: 1}, Keys: []joincore.KeyPair{
					{Left: joincore.ColumnRef{}, Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt},
				}},
				Output: []joincore.ColumnRef{{Input: 0, Column: 0}},
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			mem, sink := &arena{}, newDiscard(int64Columns(1), 4, 1<<14)
			err := run.Run(ctx, providers[0], plan, []*joincore.Relation{one, one}, mem, sink, run.Options{
				Decide: func(_ int, d choose.Decision) choose.Decision { d.Algorithm = a; return d },
			}, nil)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%v: %v", a, err)
			}
			if mem.inUse != 0 || len(sink.free) != cap(sink.free) {
				t.Fatalf("%v: %d bytes leaked, %d batches of %d free", a, mem.inUse, len(sink.free), cap(sink.free))
			}
		}
	}
}

// TestCorruptInput: offsets that decrease, point past the heap or are
// anything else give some result or ErrInvalid, and nothing else.
func TestCorruptInput(t *testing.T) {
	for _, p := range providers {
		for _, a := range algorithms {
			for seed := range uint64(40) {
				if sampled(seed, 3) {
					continue
				}
				c, plan, inputs := faultCase(a, seed)
				r := rand.New(rand.NewPCG(seed, 3))
				for _, rel := range inputs {
					for i := range rel.Segments {
						corrupt(r, rel, &rel.Segments[i])
					}
				}
				mem, sink := &arena{}, sinkFor(plan, 100)
				err := run.Run(t.Context(), p, plan, inputs, mem, sink, c.options(), nil)
				if err != nil && !errors.Is(err, joincore.ErrInvalid) && !errors.Is(err, joincore.ErrRowTooWide) {
					t.Fatalf("%v, seed %d: %v", a, seed, err)
				}
				if mem.inUse != 0 || sink.open != 0 {
					t.Fatalf("%v, seed %d: %d bytes, %d batches leaked", a, seed, mem.inUse, sink.open)
				}
			}
		}
	}
}

// corrupt overwrites offsets of a segment, or shortens a vector.
func corrupt(r *rand.Rand, rel *joincore.Relation, s *joincore.Segment) {
	for j := range s.Columns {
		v := &s.Columns[j]
		if rel.Columns[j].Kind == joincore.Varlena {
			for range r.IntN(4) {
				x := []uint32{0, 1, ^uint32(0), uint32(len(v.Heap)), uint32(len(v.Heap) + 1), r.Uint32()}[r.IntN(6)]
				binary.LittleEndian.PutUint32(v.Values[4*r.IntN(s.Rows+1):], x)
			}
		}
		switch r.IntN(60) {
		case 0:
			v.Values = v.Values[:len(v.Values)/2]
		case 1:
			v.Heap = v.Heap[:len(v.Heap)/2]
		case 2:
			if v.Validity != nil {
				v.Validity = v.Validity[:len(v.Validity)/2]
			}
		}
	}
}

// TestInputChangesWhileItIsRead: a peer that scribbles over the extents gets a
// wrong result or ErrInvalid. The race is the point: the race detector's
// opinion of it is known.
func TestInputChangesWhileItIsRead(t *testing.T) {
	if raceDetector {
		t.Skip("the test is a data race on purpose")
	}
	for _, a := range algorithms {
		for seed := range uint64(20) {
			c, plan, inputs := faultCase(a, seed)
			var stop atomic.Bool
			var peer sync.WaitGroup
			peer.Go(func() {
				r := rand.New(rand.NewPCG(seed, 4))
				for !stop.Load() {
					s := &inputs[r.IntN(2)].Segments[r.IntN(3)]
					v := &s.Columns[r.IntN(len(s.Columns))]
					v.Values[r.IntN(len(v.Values))] = byte(r.Uint32())
				}
			})
			for range 10 {
				mem, sink := &arena{}, sinkFor(plan, 100)
				err := run.Run(t.Context(), c.provider, plan, inputs, mem, sink, c.options(), nil)
				if err != nil && !errors.Is(err, joincore.ErrInvalid) && !errors.Is(err, joincore.ErrRowTooWide) {
					t.Errorf("%v, seed %d: %v", a, seed, err)
				}
				if mem.inUse != 0 || sink.open != 0 {
					t.Errorf("%v, seed %d: %d bytes, %d batches leaked", a, seed, mem.inUse, sink.open)
				}
			}
			stop.Store(true)
			peer.Wait()
		}
	}
}

// TestRowTooWide: a value that no batch can hold is an error of its own; one
// that needs an unusual split of a batch is not.
func TestRowTooWide(t *testing.T) {
	wide := func(n int) *joincore.Relation {
		offsets := binary.LittleEndian.AppendUint32(make([]byte, 4), uint32(n))
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(n+4))
		return &joincore.Relation{
			Columns: []joincore.Column{varlena, varlena, fixed(8)},
			Segments: []joincore.Segment{{Rows: 2, Columns: []joincore.Vector{
				{Values: offsets, Heap: make([]byte, n+4)},
				{Values: make([]byte, 12), Heap: make([]byte, 400)},
				{Values: make([]byte, 16)},
			}}},
		}
	}
	for n, want := range map[int]error{900: nil, 5000: joincore.ErrRowTooWide} {
		rel := wide(n)
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: rel.Columns}, {Columns: rel.Columns}},
			Root: &joincore.Join{Kind: joincore.Inner, Left: &joincore.Scan{}, Right: &joincore.Scan{Input: 1}, Keys: []joincore.KeyPair{
				{Left: joincore.ColumnRef{Column: 2}, Right: joincore.ColumnRef{Input: 1, Column: 2}, Class: joincore.KeyInt},
			}},
			Output: []joincore.ColumnRef{{Column: 0}, {Column: 1}},
		}
		for _, p := range providers {
			sink := &collect{capacity: 4, heap: 1000, columns: []joincore.Column{varlena, varlena}}
			err := run.Run(t.Context(), p, plan, []*joincore.Relation{rel, rel}, &arena{}, sink, run.Options{}, nil)
			if !errors.Is(err, want) || want == nil && (err != nil || sink.n != 4) {
				t.Errorf("%d bytes: %v, %d rows", n, err, sink.n)
			}
			if sink.open != 0 {
				t.Errorf("%d bytes: %d batches leaked", n, sink.open)
			}
		}
	}
}
