//go:build cuda

package outofcore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/suite"
)

// TestDivision: each row of both inputs is in one partition, with its values,
// validity and number; equal keys of either width meet, whoever divides; NULLs
// are in the first.
func TestDivision(t *testing.T) {
	where := map[int64]int{outofcore.Null: 0}
	for _, by := range []outofcore.Dividers{outofcore.DeviceAlone, outofcore.CoresAlone, outofcore.DeviceAndCores} {
		checkDivision(t, by, where, outofcore.Divide)
	}
	for _, bytes := range []int64{0, 30 << 10} { // for all windows, and for a few
		checkDivision(t, outofcore.DeviceAlone, where, func(ctx context.Context, e outofcore.Resources, inputs ...*outofcore.Division) (func(), error) {
			e.Device().ResidentBytes = bytes
			stayed, free, err := outofcore.DivideAndEvict(ctx, e, inputs...)
			if all := inputs[0].Windows() + inputs[1].Windows(); stayed == 0 || stayed == all != (bytes == 0) {
				t.Errorf("%d of %d windows stayed on the device", stayed, all)
			}
			return free, err
		})
	}
}

// checkDivision checks and adds to where each key is.
func checkDivision(t *testing.T, by outofcore.Dividers, where map[int64]int,
	divide func(context.Context, outofcore.Resources, ...*outofcore.Division) (func(), error)) {
	t.Helper()
	p, shared := provider(t)
	shared.Limits = outofcore.Limits{WindowRows: 700, By: by}
	mem := &suite.Arena{}
	// By one seed, so that partitions can be compared with those of others.
	d, err := p.Open(mem, device.Options{Seed: 9})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	e := executionOf(d)
	const bits = 3
	r := rand.New(rand.NewPCG(5, 6))
	var divisions []*outofcore.Division
	var keys [][]int64
	for i, width := range []int{4, 8} {
		in, k := outofcore.Keyed(t, r, width, 5000)
		keys = append(keys, k)
		all := imported(t, d, i, in.Relation)
		key := &device.Key{Exact: true, Parts: []device.KeyPart{{Column: joincore.ColumnRef{Input: i}, Class: joincore.KeyInt, Bits: 64}}}
		divisions = append(divisions, outofcore.NewDivision(e, outofcore.Side{All: all, Key: key, Columns: []int{0}, Numbered: true}, bits))
	}
	free, err := divide(t.Context(), e, divisions...)
	if err != nil {
		t.Fatal(err)
	}
	used, narrow := map[int]bool{}, 0
	for i, d := range divisions {
		if d.Windows() < 3 {
			t.Errorf("%d windows", d.Windows())
		}
		seen := map[uint32]bool{}
		for partition := range 1 << bits {
			for w := range d.Windows() {
				width := []int{4, 8}[i]
				value, isNarrow := d.Values(w, partition)
				if isNarrow {
					narrow++
				}
				valid := d.Piece(w, rowid.PayloadValidity, partition)
				for n, row := range outofcore.Words(d.Piece(w, rowid.PayloadRowIDs, partition)) {
					if seen[row] {
						t.Fatalf("row %d twice", row)
					}
					seen[row], used[partition] = true, true
					key := keys[i][row]
					if (key != outofcore.Null) != (valid[n] == 1) {
						t.Fatalf("row %d: valid %d", row, valid[n])
					}
					if key != outofcore.Null {
						var b [8]byte
						binary.LittleEndian.PutUint64(b[:], uint64(key))
						if string(b[:width]) != string(value[n*width:(n+1)*width]) {
							t.Fatalf("row %d: another value", row)
						}
					}
					if before, ok := where[key]; ok && before != partition {
						t.Fatalf("key %d in partitions %d and %d", key, before, partition)
					}
					where[key] = partition
				}
			}
		}
		if len(seen) != len(keys[i]) {
			t.Errorf("%d of %d rows", len(seen), len(keys[i]))
		}
	}
	free()
	if narrow == 0 && by == outofcore.DeviceAlone || narrow > 0 && by == outofcore.CoresAlone {
		t.Errorf("%d pieces are stored in fewer bytes", narrow)
	}
	if len(used) != 1<<bits {
		t.Errorf("%d of %d partitions are used", len(used), 1<<bits)
	}
	if mem.InUse() != 0 {
		t.Errorf("%d bytes not freed", mem.InUse())
	}
}

// TestDividedWithLittleMemory: whichever allocation fails, the join runs by
// what is left or says so, and nothing is leaked. Where the host has room for
// row numbers only, it divides those.
func TestDividedWithLittleMemory(t *testing.T) {
	p, shared := provider(t)
	shared.Limits = outofcore.Limits{SplitBytes: 1, WindowRows: 100, By: outofcore.DeviceAlone}
	plan, inputs := suite.SegmentedPair(joincore.Full)
	want, err := oracle.Run(plan, inputs)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, mem := range []*suite.Arena{{}, {FailAt: 1}, {FailAt: 2}, {FailAt: 3}, {FailAt: 8}, {FailAt: 16}, {FailAt: 20}, {Limit: 7300}, {Limit: 20_000}} {
		sink := suite.NewCollector(plan, 50)
		err := suite.Run(t.Context(), p, plan, inputs, mem, sink, exec.Options{}, nil)
		if mem.InUse() != 0 {
			t.Errorf("fail at %d, limit %d: %d bytes not freed", mem.FailAt, mem.Limit, mem.InUse())
		}
		switch {
		case errors.Is(err, joincore.ErrBudget):
		case err != nil:
			t.Errorf("fail at %d, limit %d: %v", mem.FailAt, mem.Limit, err)
		default:
			ran++
			if diff := sink.Difference(want); diff != "" {
				t.Errorf("fail at %d, limit %d:\n%s", mem.FailAt, mem.Limit, diff)
			}
		}
	}
	if ran < 3 {
		t.Errorf("only %d joins ran", ran)
	}
}

// stopping is memory that calls stop with one of its allocations.
type stopping struct {
	*suite.Arena
	calls, at int
	stop      func()
}

func (m *stopping) Alloc(n int64) ([]byte, error) {
	if m.calls++; m.calls == m.at {
		m.stop()
	}
	return m.Arena.Alloc(n)
}

// failing is a sink whose n-th batch fails.
type failing struct {
	*suite.Collector
	calls atomic.Int64
	at    int64
	err   error
}

func (s *failing) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	if s.calls.Add(1) == s.at {
		return nil, s.err
	}
	return s.Collector.NewBatch(ctx, heap)
}

// TestDividedIsStopped: a division that is cancelled in its middle, one that
// panics there, and a sink that fails between co-partitions, leave nothing behind,
// with memory of the job or with slabs, and the next join is right.
func TestDividedIsStopped(t *testing.T) {
	p, shared := provider(t)
	shared.Limits = outofcore.Limits{SplitBytes: 1, WindowRows: 100, ResidentBytes: -1, By: outofcore.DeviceAlone}
	for _, shared.SlabFrom = range []int64{0, 1} {
		for at := 1; at < 16; at += 3 {
			checkStopped(t, p, at)
		}
		if n := shared.Slabs.Used(); n != 0 {
			t.Errorf("slabs of %d bytes were not given back", n)
		}
	}
}

// checkStopped stops a divided join at an allocation, or a batch.
func checkStopped(t *testing.T, p device.Provider, at int) {
	t.Helper()
	plan, inputs := suite.SegmentedPair(joincore.Left)
	want, err := oracle.Run(plan, inputs)
	if err != nil {
		t.Fatal(err)
	}
	join := func(ctx context.Context, mem joincore.Memory, sink joincore.Sink) error {
		return suite.Run(ctx, p, plan, inputs, mem, sink, exec.Options{}, nil)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	errStop := errors.New("stopped")
	cancelled := &stopping{Arena: &suite.Arena{}, at: at, stop: func() { cancel(errStop) }}
	if err := join(ctx, cancelled, suite.NewCollector(plan, 50)); !errors.Is(err, errStop) {
		t.Errorf("cancelled with allocation %d: %v", at, err)
	}
	panicked := &stopping{Arena: &suite.Arena{}, at: at, stop: func() { panic("no memory") }}
	var caught *device.Panic
	if err := join(t.Context(), panicked, suite.NewCollector(plan, 50)); !errors.As(err, &caught) {
		t.Errorf("panicked with allocation %d: %v", at, err)
	}
	broken := &suite.Arena{}
	if err := join(t.Context(), broken, &failing{Collector: suite.NewCollector(plan, 50), at: int64(at), err: errStop}); !errors.Is(err, errStop) {
		t.Errorf("batch %d failed: %v", at, err)
	}
	if n := cancelled.InUse() + panicked.InUse() + broken.InUse(); n != 0 {
		t.Errorf("stopped at %d: %d bytes not freed", at, n)
	}
	sink := suite.NewCollector(plan, 50)
	if err := join(t.Context(), &suite.Arena{}, sink); err != nil {
		t.Fatal(err)
	}
	if diff := sink.Difference(want); diff != "" {
		t.Fatal(diff)
	}
}
