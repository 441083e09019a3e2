package algo

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Output says what a plan returns, and where.
type Output struct {
	Sink    joincore.Sink
	Columns []joincore.ColumnRef
	Heap    []float64 // expected heap bytes a row of each column
	Widths  []int     // bytes of Fixed columns, 0 for others

	Rows, Bytes atomic.Int64
	Waits       Clock // for the sink
	Gathers     Clock // of columns into its batches
}

// Emitter gathers the rows of one worker into batches of a sink.
type Emitter struct {
	ctx   context.Context
	st    device.Stream
	out   *Output
	batch *joincore.Batch
	rows  int
	heap  []int
}

// NewEmitter returns the emitter of a worker that gathers on st.
func (o *Output) NewEmitter(ctx context.Context, st device.Stream) *Emitter {
	return &Emitter{ctx: ctx, st: st, out: o, heap: make([]int, len(o.Columns))}
}

// Consume is a Pipeline.Consume.
func (o *Output) Consume(ctx context.Context, st device.ChunkStream) Consumer {
	return o.NewEmitter(ctx, st)
}

func (e *Emitter) Push(r device.Rows, n int) error {
	for from := 0; from < n; {
		if e.batch == nil {
			if err := e.open(e.out.Heap); err != nil {
				return err
			}
		}
		written, err := e.gather(r, from)
		if err != nil {
			return err
		}
		if written == 0 && e.rows == 0 {
			if written, err = e.retry(r, from); err != nil {
				return err
			}
		}
		e.rows += written
		from += written
		if from < n || e.rows == e.batch.Rows {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Emitter) gather(r device.Rows, from int) (int, error) {
	start := time.Now()
	n, err := e.st.Gather(r, from, e.out.Columns, e.batch, e.rows, e.heap).Wait(e.ctx)
	e.out.Gathers.Add(time.Since(start))
	return int(n), err
}

// retry asks for a batch that is split as one wide row needs it.
func (e *Emitter) retry(r device.Rows, row int) (int, error) {
	need := make([]int, len(e.heap))
	if _, err := e.st.Measure(r, row, e.out.Columns, need).Wait(e.ctx); err != nil {
		return 0, err
	}
	e.discard()
	heap, total := make([]float64, len(need)), 0
	for i, n := range need {
		heap[i], total = float64(n), total+n
	}
	if err := e.open(heap); err != nil {
		return 0, err
	}
	n, err := e.gather(r, row)
	if err == nil && n == 0 {
		return 0, fmt.Errorf("row with %d bytes of variable length: %w", total, joincore.ErrRowTooWide)
	}
	return n, err
}

func (e *Emitter) open(heap []float64) error {
	start := time.Now()
	b, err := e.out.Sink.NewBatch(e.ctx, heap)
	e.out.Waits.Add(time.Since(start))
	if err != nil {
		return err
	}
	e.batch, e.rows = b, 0
	clear(e.heap)
	return nil
}

func (e *Emitter) flush() error {
	b := e.batch
	e.batch = nil
	bytes := 0
	for i, w := range e.out.Widths {
		bytes += w*e.rows + e.heap[i]
	}
	e.out.Rows.Add(int64(e.rows))
	e.out.Bytes.Add(int64(bytes))
	start := time.Now()
	err := e.out.Sink.Emit(e.ctx, b, e.rows, slices.Clone(e.heap))
	e.out.Waits.Add(time.Since(start))
	return err
}

func (e *Emitter) discard() {
	e.out.Sink.Discard(e.batch)
	e.batch = nil
}

func (e *Emitter) Finish() error {
	if e.batch == nil || e.rows == 0 {
		return nil
	}
	return e.flush()
}

func (e *Emitter) Close() {
	if e.batch != nil {
		e.discard()
	}
}

// Collect is a Pipeline.Consume that keeps rows as tuples of row numbers.
func Collect(t device.Tuples) func(context.Context, device.ChunkStream) Consumer {
	return func(ctx context.Context, st device.ChunkStream) Consumer {
		return &collector{ctx: ctx, st: st, tuples: t}
	}
}

type collector struct {
	ctx    context.Context
	st     device.ChunkStream
	tuples device.Tuples
}

func (c *collector) Push(r device.Rows, _ int) error { return c.st.Append(r, c.tuples) }
func (c *collector) Finish() error                   { return c.st.Sync(c.ctx) }
func (c *collector) Close()                          {}
