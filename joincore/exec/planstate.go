package exec

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// planState is the state that both executors share.
type planState struct {
	*sized // with the real rows of scans
	ctx    context.Context
	inputs []*joincore.Relation
	spaces []device.Space // of the inputs, derived ones behind the others
	opt    Options
	number map[*joincore.Join]int // in post-order
	// aggregates are those of the plan, and groups what is reported of them, in post-order.
	aggregates []*joincore.Aggregate
	groups     []joincore.AggregateStats
}

func newPlanState(ctx context.Context, plan *joincore.Checked, inputs []*joincore.Relation, opt Options) *planState {
	rows := func(input int) int64 { return inputs[input].Rows() }
	e := &planState{sized: newSized(plan, planned, rows), ctx: ctx, inputs: inputs, opt: opt, number: map[*joincore.Join]int{}}
	for i, j := range joincore.Joins(plan.Root) {
		e.number[j] = i
	}
	e.aggregates = joincore.Aggregates(plan.Root)
	e.groups = make([]joincore.AggregateStats, len(e.aggregates))
	return e
}

func (e *planState) importInputs(d device.Device) error {
	for i, r := range e.inputs {
		s, err := d.Import(i, r)
		if err != nil {
			return err
		}
		e.spaces = append(e.spaces, s)
	}
	e.spaces = append(e.spaces, make([]device.Space, len(e.schema)-len(e.inputs))...)
	return nil
}

// output describes the plan's result.
func (e *planState) output(sink joincore.Sink) *Output {
	out := &Output{Sink: sink, Columns: e.plan.Output}
	for _, c := range e.plan.Output {
		described := e.schema.Column(c)
		heap := 0.0
		if base := c.Input < len(e.inputs); described.Kind == joincore.Varlena && base {
			heap = meanHeap(e.inputs[c.Input], c.Column)
		} else if described.Kind == joincore.Varlena {
			heap = guessedTextBytes
		}
		out.Heap = append(out.Heap, heap)
		out.Widths = append(out.Widths, described.Width)
	}
	return out
}

// guessedTextBytes is the assumed size, in bytes, of a value of variable length in a
// derived input. If it is wrong, batches hold fewer rows.
const guessedTextBytes = 16

// meanHeap returns the mean heap bytes per row.
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

// decided determines the build and the probe side of a join. The decision is completed once
// the build side is stored.
func (e *planState) decided(n *joincore.Join, needed columns) (build, probe *side, d costmodel.Decision) {
	d = costmodel.Decision{BuildLeft: e.buildLeft(n), Algorithm: e.plan.Algorithm}
	if e.opt.Decide != nil {
		d = e.opt.Decide(e.number[n], d)
	}
	build, probe = e.sidesOf(n, needed, d.BuildLeft)
	return build, probe, d
}
