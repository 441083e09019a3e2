package suite

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/oracle"
)

// Collector is a Sink that collects the multiset of rows.
type Collector struct {
	columns  []joincore.Column
	capacity int // rows per batch
	heap     int // heap bytes per batch, divided by the expected means

	lock sync.Mutex
	open int // batches neither emitted nor discarded
	rows oracle.Rows
	n    int
}

// NewCollector returns the sink of a plan with batches of the given rows.
func NewCollector(plan *joincore.Plan, batch int) *Collector {
	return &Collector{columns: outputColumns(plan), capacity: batch, heap: 256 + 64*batch}
}

func outputColumns(plan *joincore.Plan) []joincore.Column {
	checked, err := joincore.Check(plan)
	if err != nil {
		panic(err)
	}
	var out []joincore.Column
	for _, c := range plan.Output {
		out = append(out, checked.Schema().Column(c))
	}
	return out
}

func (c *Collector) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.lock.Lock()
	c.open++
	c.lock.Unlock()
	total := 0.0
	for i, h := range heap {
		if c.columns[i].Kind == joincore.Varlena {
			total += h + 1
		}
	}
	b := &joincore.Batch{Rows: c.capacity}
	for i, col := range c.columns {
		v := joincore.Vector{Validity: make([]byte, (c.capacity+7)/8)}
		for j := range v.Validity {
			v.Validity[j] = 0xff
		}
		if col.Kind == joincore.Fixed {
			v.Values = make([]byte, c.capacity*col.Width)
		} else {
			v.Values = make([]byte, 4*(c.capacity+1))
			v.Heap = make([]byte, int(float64(c.heap)*(heap[i]+1)/total))
		}
		b.Columns = append(b.Columns, v)
	}
	return b, nil
}

func (c *Collector) Emit(_ context.Context, b *joincore.Batch, rows int, _ []int) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.open--
	if rows <= 0 || rows > b.Rows {
		return fmt.Errorf("%d rows in a batch of %d", rows, b.Rows)
	}
	c.n += rows
	if c.rows == nil {
		c.rows = oracle.Rows{}
	}
	for r := range rows {
		var row []byte
		for i, col := range c.columns {
			value, null := oracle.ValueAt(col, &b.Columns[i], r)
			row = oracle.AppendValue(row, value, null)
		}
		c.rows[string(row)]++
	}
	return nil
}

func (c *Collector) Discard(*joincore.Batch) {
	c.lock.Lock()
	c.open--
	c.lock.Unlock()
}

// closed fails the test if a batch was neither emitted nor discarded.
func (c *Collector) closed(t *testing.T, name string) {
	t.Helper()
	if c.open != 0 {
		t.Fatalf("%s: %d batches not given back", name, c.open)
	}
}

// Discarder is a Sink that only counts rows, with a few batches that it reuses. Columns
// must have fixed width.
type Discarder struct {
	Rows atomic.Int64
	free chan *joincore.Batch
}

// NewDiscarder returns a sink with the given number of batches and rows per batch, a
// multiple of 8. Its memory stays mapped.
func NewDiscarder(columns []joincore.Column, batches, capacity int) *Discarder {
	d := &Discarder{free: make(chan *joincore.Batch, batches)}
	width := 0
	for _, c := range columns {
		width += c.Width
	}
	for range batches {
		memory, err := MapHuge(capacity * width)
		if err != nil {
			panic(err)
		}
		for i := 0; i < len(memory); i += 4096 {
			memory[i] = 0 // takes page faults out of the measurement
		}
		b := &joincore.Batch{Rows: capacity}
		for _, c := range columns {
			n := capacity * c.Width
			b.Columns = append(b.Columns, joincore.Vector{Values: memory[:n:n], Validity: make([]byte, (capacity+7)/8)})
			memory = memory[n:]
		}
		d.free <- b
	}
	return d
}

func (d *Discarder) NewBatch(ctx context.Context, _ []float64) (*joincore.Batch, error) {
	select {
	case b := <-d.free:
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (d *Discarder) Emit(_ context.Context, b *joincore.Batch, rows int, _ []int) error {
	d.Rows.Add(int64(rows))
	d.free <- b
	return nil
}

func (d *Discarder) Discard(b *joincore.Batch) { d.free <- b }

// idle reports whether all batches have been returned.
func (d *Discarder) idle() bool { return len(d.free) == cap(d.free) }
