package exec

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Output describes the columns that a plan returns and writes them to a sink.
// The caller must call Finish.
type Output struct {
	Sink    joincore.Sink
	Columns []joincore.ColumnRef
	Heap    []float64 // expected heap bytes per row of each column
	Widths  []int     // bytes of Fixed columns, 0 for others
	// Turns are the turns of the workers that push rows. A worker gives up its
	// turn while it waits for the sink. nil means no limit.
	Turns device.Turns

	Rows, Bytes atomic.Int64
	Waits       Clock // time spent waiting for the sink
	Gathers     Clock // time spent gathering columns

	open openBatches
}

// Emitter gathers the rows of one worker into the open batches of an output.
type Emitter struct {
	ctx  context.Context
	st   device.Stream
	out  *Output
	last *openBatch // that it has filled last
}

// NewEmitter returns the emitter of one worker, which gathers on st.
func (o *Output) NewEmitter(ctx context.Context, st device.Stream) *Emitter {
	return &Emitter{ctx: ctx, st: st, out: o}
}

// Consume is a Pipeline.Consume.
func (o *Output) Consume(ctx context.Context, st device.ChunkStream) Consumer {
	return o.NewEmitter(ctx, st)
}

func (e *Emitter) Push(r device.Rows, n int) error {
	for from := 0; from < n; {
		b, err := e.out.take(e.ctx, e.last)
		if err != nil {
			return err
		}
		written, err := e.gather(b, r, from)
		if err != nil {
			return err
		}
		if written == 0 && b.rows == 0 {
			if b, written, err = e.retry(b, r, from); err != nil {
				return err
			}
		}
		b.rows += written
		from += written
		if from < n || b.rows == b.batch.Rows {
			e.last, err = nil, e.out.flush(e.ctx, b)
		} else {
			e.last, err = b, e.out.put(e.ctx, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Emitter) gather(b *openBatch, r device.Rows, from int) (int, error) {
	start := time.Now()
	n, err := e.st.Gather(r, from, e.out.Columns, b.batch, b.rows, b.heap).Wait(e.ctx)
	e.out.Gathers.Add(time.Since(start))
	return int(n), err
}

// retry writes a row into a batch that is divided as this wide row needs it,
// instead of b.
func (e *Emitter) retry(b *openBatch, r device.Rows, row int) (*openBatch, int, error) {
	need := make([]int, len(e.out.Columns))
	if _, err := e.st.Measure(r, row, e.out.Columns, need).Wait(e.ctx); err != nil {
		return nil, 0, err
	}
	e.out.Sink.Discard(e.out.open.remove(b))
	heap, total := make([]float64, len(need)), 0
	for i, n := range need {
		heap[i], total = float64(n), total+n
	}
	b, err := e.out.takeWide(e.ctx, heap)
	if err != nil {
		return nil, 0, err
	}
	n, err := e.gather(b, r, row)
	if err == nil && n == 0 {
		err = fmt.Errorf("row with %d bytes of variable length: %w", total, joincore.ErrRowTooWide)
	}
	return b, n, err
}

// Finish does nothing: the worker's rows stay in open batches, which other
// workers may fill, until Output.Finish.
func (e *Emitter) Finish() error { return nil }

func (e *Emitter) Close() {}

// Collect returns a Pipeline.Consume that stores rows as tuples of row ids.
func Collect(t device.Tuples) func(context.Context, device.ChunkStream) Consumer {
	return func(ctx context.Context, st device.ChunkStream) Consumer {
		return &queued{ctx, st, func(r device.Rows) error { return st.Append(r, t) }}
	}
}

// Group returns a Pipeline.Consume that groups rows.
func Group(a device.Aggregation) func(context.Context, device.ChunkStream) Consumer {
	return func(ctx context.Context, st device.ChunkStream) Consumer {
		return &queued{ctx, st, func(r device.Rows) error { return st.Group(ctx, r, a) }}
	}
}

// queued is a consumer whose work is queued on the worker's stream.
type queued struct {
	ctx  context.Context
	st   device.ChunkStream
	take func(device.Rows) error
}

func (q *queued) Push(r device.Rows, _ int) error { return q.take(r) }
func (q *queued) Finish() error                   { return q.st.Sync(q.ctx) }
func (q *queued) Close()                          {}

// Gatherer gathers whole spaces into batches of a sink, on all streams of a
// device. It is not safe for concurrent use.
type Gatherer struct {
	device  device.Device
	out     *Output
	streams []device.Stream // opened as they are needed
	took    time.Duration
}

// NewGatherer returns a gatherer. The caller must call Close.
func NewGatherer(d device.Device, out *Output) *Gatherer {
	return &Gatherer{device: d, out: out}
}

// Gather writes all rows of a space, and returns when the sink has received
// them.
func (g *Gatherer) Gather(ctx context.Context, s device.Space) error {
	parts := g.parts(s.Segments())
	workers := min(g.device.Streams(), len(parts))
	for len(g.streams) < workers {
		st, err := g.device.NewStream()
		if err != nil {
			return g.out.Finish(ctx, err)
		}
		g.streams = append(g.streams, st)
	}
	before := g.out.Gathers.Each(workers)
	tasks := device.NewTasks(len(parts))
	err := device.Workers(ctx, workers, func(ctx context.Context, worker int) error {
		st := g.streams[worker]
		emitter := g.out.NewEmitter(ctx, st)
		for i := range tasks.Deal(ctx, device.Unlimited{}) {
			if err := scanMorsel(ctx, st, s, parts[i], g.device.ChunkRows(), emitter.Push); err != nil {
				return err
			}
		}
		return nil
	})
	err = g.out.Finish(ctx, err)
	g.took += g.out.Gathers.Each(workers) - before
	return err
}

// leastCopied is how many rows are worth a stream if cores copy some of their values.
const leastCopied = 1 << 13

// parts divides the rows of a space among the streams. The device gathers values of fixed width, in large
// parts. Cores copy those of variable length, so these rows are divided as evenly as the streams can
// share them: each core copies far fewer bytes than a link.
func (g *Gatherer) parts(segments []device.Segment) []morsel {
	size := g.device.ChunkRows() * morselChunks
	if slices.Contains(g.out.Widths, 0) {
		rows := 0
		for _, s := range segments {
			rows += s.Rows
		}
		each := rows / (2 * g.device.Streams()) // twice as many parts as streams: some take longer
		size = min(size, max(each, leastCopied))
	}
	return morselsOf(segments, size)
}

// Took returns the time spent gathering, without waits for the sink.
func (g *Gatherer) Took() time.Duration { return g.took }

// Close closes the streams.
func (g *Gatherer) Close() {
	for _, st := range g.streams {
		st.Close()
	}
	g.streams = nil
}
