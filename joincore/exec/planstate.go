package exec

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// planState is the state that both executors share.
type planState struct {
	ctx    context.Context
	plan   *joincore.Checked
	inputs []*joincore.Relation
	spaces []device.Space // of the inputs, derived ones behind the others
	opt    Options
	rows   rowEstimates           // of scans the real number
	number map[*joincore.Join]int // in post-order
	schema joincore.Schema
	// aggregates are those of the plan, in post-order.
	aggregates []*joincore.Aggregate
}

func newPlanState(ctx context.Context, plan *joincore.Checked, inputs []*joincore.Relation, opt Options) *planState {
	e := &planState{ctx: ctx, plan: plan, inputs: inputs, opt: opt, number: map[*joincore.Join]int{}, schema: plan.Schema()}
	for i, j := range joincore.Joins(plan.Root) {
		e.number[j] = i
	}
	e.aggregates = joincore.Aggregates(plan.Root)
	e.rows = estimateRows(plan.Root, planned, func(input int) int64 { return inputs[input].Rows() })
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
		described := e.columnOf(c)
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

// sidesOf determines the build and the probe side of a join. probeRows is an
// estimate; the decision is completed once the build side is stored.
func (e *planState) sidesOf(n *joincore.Join, needed columns) (build, probe *side, probeRows int64, d costmodel.Decision) {
	left, right := sides(n, needed, e.columnOf)
	sizes := joinSizes(n, e.rows)
	d.BuildLeft = sizes.BuildLeft()
	d.Algorithm = e.plan.Algorithm
	if e.opt.Decide != nil {
		d = e.opt.Decide(e.number[n], d)
	}
	build, probe = oriented(d.BuildLeft, left, right)
	_, probeRows = oriented(d.BuildLeft, sizes.LeftRows, sizes.RightRows)
	return build, probe, probeRows, d
}

func (e *planState) columnOf(c joincore.ColumnRef) joincore.Column {
	return e.schema.Column(c)
}
