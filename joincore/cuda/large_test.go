//go:build cuda

package cuda

import (
	"context"
	"encoding/binary"
	"strings"
	"sync"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// spread is a bijection: keys that are nowhere dense.
func spread(i int64) uint64 {
	x := uint64(i) * 0x9e3779b97f4a7c15
	x ^= x >> 32
	return x * 0xd6e8feb86659fd93
}

// numberedInput makes an input of rows [first, first+n): spread keys and the row as
// payload, each column of a segment in memory of alloc.
func numberedInput(first, n int64, alloc func(int) []byte) *joincore.Relation {
	const segment = 1 << 18
	r := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Fixed, Width: 8}, {Kind: joincore.Fixed, Width: 8}}}
	for low := int64(0); low < n; low += segment {
		rows := int(min(segment, n-low))
		keys, payload := alloc(8*rows), alloc(8*rows)
		for i := range rows {
			row := first + low + int64(i)
			binary.LittleEndian.PutUint64(keys[8*i:], spread(row))
			binary.LittleEndian.PutUint64(payload[8*i:], uint64(row))
		}
		r.Segments = append(r.Segments, joincore.Segment{Rows: rows, Columns: []joincore.Vector{{Values: keys}, {Values: payload}}})
	}
	return r
}

// payloads is a sink that adds up what it is given: for each column the sum of
// its values and how many are NULL.
type payloads struct {
	free chan *joincore.Batch
	mu   sync.Mutex
	rows int64
	sum  [2]uint64
	null [2]int64
	odd  int64 // rows whose two values differ though both are there
}

func newPayloads(batches, capacity int, alloc func(int) []byte) *payloads {
	p := &payloads{free: make(chan *joincore.Batch, batches)}
	for range batches {
		b := &joincore.Batch{Rows: capacity}
		for range 2 {
			b.Columns = append(b.Columns, joincore.Vector{Values: alloc(8 * capacity), Validity: make([]byte, (capacity+7)/8)})
		}
		p.free <- b
	}
	return p
}

func (p *payloads) NewBatch(ctx context.Context, _ []float64) (*joincore.Batch, error) {
	select {
	case b := <-p.free:
		for i := range b.Columns {
			for j := range b.Columns[i].Validity {
				b.Columns[i].Validity[j] = 0xff
			}
		}
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *payloads) Emit(_ context.Context, b *joincore.Batch, rows int, _ []int) error {
	var sum [2]uint64
	var nulls [2]int64
	odd := int64(0)
	for i := range rows {
		var value [2]uint64
		var there [2]bool
		for c := range value {
			value[c] = binary.LittleEndian.Uint64(b.Columns[c].Values[8*i:])
			if there[c] = b.Columns[c].Validity[i/8]>>(i%8)&1 == 1; there[c] {
				sum[c] += value[c]
			} else {
				nulls[c]++
			}
		}
		if there[0] && there[1] && value[0] != value[1] {
			odd++
		}
	}
	p.mu.Lock()
	p.rows += int64(rows)
	p.odd += odd
	for c := range sum {
		p.sum[c] += sum[c]
		p.null[c] += nulls[c]
	}
	p.mu.Unlock()
	p.free <- b
	return nil
}

func (p *payloads) Discard(b *joincore.Batch) { p.free <- b }

// total returns the sum of [first, end).
func total(first, end int64) uint64 { return uint64(end-first) * uint64(first+end-1) / 2 }

// TestInputsLargerThanTheDevice: rows [0, n) are joined with [n/2, n/2 + m), with
// little memory: large probe sides come in windows, large build sides are
// divided on the host.
func TestInputsLargerThanTheDevice(t *testing.T) {
	p := provider(t, 192<<20)
	heap := func(n int) []byte { return make([]byte, n) }
	for _, c := range []struct {
		build, probe int64
	}{{100_000, 8_000_000}, {5_000_000, 6_000_001}} {
		n, m := c.build, c.probe
		inputs := []*joincore.Relation{numberedInput(n/2, m, heap), numberedInput(0, n, heap)}
		for _, kind := range []joincore.Kind{joincore.Inner, joincore.Full, joincore.Anti} {
			plan := suite.PairPlan(inputs[0], inputs[1])
			plan.Root.(*joincore.Join).Kind = kind
			plan.Output = []joincore.ColumnRef{{Input: 0, Column: 1}, {Input: 1, Column: 1}}
			common, end := n-n/2, n/2+m
			want := payloads{rows: common, sum: [2]uint64{total(n/2, n), total(n/2, n)}}
			switch kind {
			case joincore.Full:
				want = payloads{rows: n/2 + m, sum: [2]uint64{total(n/2, end), total(0, n)}, null: [2]int64{n / 2, end - n}}
			case joincore.Anti:
				plan.Output[1] = plan.Output[0]
				want = payloads{rows: end - n, sum: [2]uint64{total(n, end), total(n, end)}}
			}
			sink, mem := newPayloads(8, 1<<16, heap), &suite.Arena{}
			var stats joincore.Stats
			err := suite.Run(t.Context(), p, plan, inputs, mem, sink, exec.Options{}, &stats)
			if err != nil {
				t.Errorf("%d x %d, kind %d: %v", n, m, kind, err)
				continue
			}
			if sink.rows != want.rows || sink.sum != want.sum || sink.null != want.null || sink.odd != 0 || mem.InUse() != 0 {
				t.Errorf("%d x %d, kind %d: %d rows, sums %v, NULLs %v, %d odd; want %d, %v, %v", n, m, kind,
					sink.rows, sink.sum, sink.null, sink.odd, want.rows, want.sum, want.null)
			}
			t.Logf("%d x %d, kind %d: %+v", n, m, kind, stats.Joins)
		}
	}
}

// TestPayloadIsMoved: a join of inputs that fit moves payload with the key.
func TestPayloadIsMoved(t *testing.T) {
	p := provider(t, 1<<30)
	heap := func(n int) []byte { return make([]byte, n) }
	inputs := []*joincore.Relation{numberedInput(0, 2_000_000, heap), numberedInput(500_000, 1_000_000, heap)}
	plan := suite.PairPlan(inputs[0], inputs[1])
	plan.Output = []joincore.ColumnRef{{Input: 0, Column: 1}, {Input: 1, Column: 1}}
	sink := newPayloads(4, 1<<16, heap)
	var stats joincore.Stats
	if err := suite.Run(t.Context(), p, plan, inputs, &suite.Arena{}, sink, exec.Options{}, &stats); err != nil {
		t.Fatal(err)
	}
	if want := total(500_000, 1_500_000); sink.rows != 1_000_000 || sink.sum != [2]uint64{want, want} || sink.odd != 0 {
		t.Errorf("%d rows, sums %v", sink.rows, sink.sum)
	}
	if len(stats.Joins) != 1 || !strings.HasPrefix(stats.Joins[0].Algorithm, "phj-") || stats.Joins[0].Work.Launches == 0 {
		t.Errorf("%+v", stats.Joins)
	}
	t.Logf("%+v", stats.Joins)
}
