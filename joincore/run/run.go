// Package run executes plans: it decides which side of each join is built,
// turns chains of joins into pipelines, and keeps between them row numbers
// only. Payload is gathered last, straight into the sink's batches.
package run

import (
	"context"
	"fmt"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/algo"
	"gpujoin/joincore/choose"
	"gpujoin/joincore/device"
)

// Options steer an execution. The zero value leaves every choice to choose.
type Options struct {
	Rates *choose.Rates // of this machine; nil: defaults
	// Decide replaces choices, for tests and benchmarks. Join counts in
	// post-order.
	Decide func(join int, d choose.Decision) choose.Decision
	Device device.Options
}

// Run executes plan over inputs and hands the result to sink. Column-sized
// memory comes from mem and is all freed when Run returns, which it does when
// ctx is done, too. Errors: ErrBudget, ErrRowTooWide, ErrUnsupported,
// ErrInvalid, those of ctx and of sink.
func Run(ctx context.Context, p device.Provider, plan *joincore.Plan, inputs []*joincore.Relation,
	mem joincore.Memory, sink joincore.Sink, opt Options, stats *joincore.Stats) (err error) {
	defer device.Recover(&err)
	if err := validate(plan, inputs); err != nil {
		return err
	}
	start := time.Now()
	counted := &meter{mem: mem}
	dev, err := p.Open(counted, opt.Device)
	if err != nil {
		return err
	}
	defer dev.Close()
	chunked, ok := dev.(device.Chunked)
	if !ok {
		return fmt.Errorf("a device of type %T: %w", dev, joincore.ErrUnsupported)
	}
	e := &execution{ctx: ctx, dev: chunked, plan: plan, inputs: inputs, opt: opt, number: map[*joincore.Join]int{}}
	e.count(plan.Root)
	out := e.output(sink)
	defer func() {
		if stats == nil {
			return
		}
		stats.Provider = p.Name()
		stats.RowsOut, stats.BytesOut = out.Rows.Load(), out.Bytes.Load()
		stats.JoinTime = time.Since(start) - out.Waits.Each(dev.Streams())
		stats.Peak = counted.peak.Load()
		stats.Joins = e.joinStats()
	}()
	for i, r := range inputs {
		s, err := dev.Import(i, r)
		if err != nil {
			return err
		}
		e.spaces = append(e.spaces, s)
	}
	f, err := e.flow(plan.Root, newColumns(plan.Output), false)
	if err != nil {
		return err
	}
	return e.drain(f, out.Consume)
}

func (e *execution) output(sink joincore.Sink) *algo.Output {
	out := &algo.Output{Sink: sink, Columns: e.plan.Output}
	for _, c := range e.plan.Output {
		described := e.inputs[c.Input].Columns[c.Column]
		heap := 0.0
		if described.Kind == joincore.Varlena {
			heap = meanHeap(e.inputs[c.Input], c.Column)
		}
		out.Heap = append(out.Heap, heap)
		out.Widths = append(out.Widths, described.Width)
	}
	return out
}

// meanHeap returns the mean of heap bytes a row.
func meanHeap(r *joincore.Relation, column int) float64 {
	bytes, rows := 0, 0
	for i := range r.Segments {
		rows += r.Segments[i].Rows
		if column < len(r.Segments[i].Columns) {
			bytes += len(r.Segments[i].Columns[column].Heap)
		}
	}
	return float64(bytes) / float64(max(rows, 1))
}

func (e *execution) drain(f *flow, consume func(context.Context, device.ChunkStream) algo.Consumer) error {
	p := &algo.Pipeline{Device: e.dev, Stages: f.stages(), Consume: consume}
	err := p.Run(e.ctx)
	for _, release := range f.release {
		release()
	}
	return err
}

func (e *execution) joinStats() []joincore.JoinStats {
	var out []joincore.JoinStats
	for _, j := range e.joins {
		out = append(out, joincore.JoinStats{
			Algorithm: j.decision.Algorithm.String(), BuildLeft: j.decision.BuildLeft,
			BuildRows: j.buildRows, ProbeRows: j.counter.In.Load(), RowsOut: j.counter.Out.Load(),
			Time: j.prepare + j.counter.Clock.Each(e.dev.Streams()),
		})
	}
	return out
}

func rowsOf(s device.Space) int64 {
	n := int64(0)
	for _, r := range s.Segments() {
		n += int64(r)
	}
	return n
}

var errPlan = fmt.Errorf("plan: %w", joincore.ErrInvalid)
