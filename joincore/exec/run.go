// Package exec executes plans on a device.
//
// It decides which side of each join is built and what is stored between joins. On
// a Chunked device, chains of joins become pipelines that pass only row ids; on a
// Bulk device, every step takes and returns whole spaces. Payload is gathered last,
// directly into the sink's batches.
//
// The algorithms are the no-partitioning join, and the partitioned hash join and the
// sort-merge join with payload gathered from untransformed (UM) or transformed
// relations (OM). Each is part of a Pipeline: a source of chunks, steps that filter
// or probe, and a consumer. A chunk passes through all steps before the source makes
// the next one, so that results stream and nothing is stored between steps.
//
// Calibrate measures the rates of a device by joins of generated data.
package exec

import (
	"context"
	"fmt"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// Options control an execution. The zero value leaves every choice to package
// costmodel.
type Options struct {
	Rates *costmodel.Rates // rates of this machine; nil: defaults
	// Decide overrides decisions, for tests and benchmarks. join is the join's
	// number in post-order.
	Decide func(join int, d costmodel.Decision) costmodel.Decision
	Device device.Options
}

// Executor is a provider that executes plans itself, such as one that divides them among
// several devices and executes the parts by Run.
type Executor interface {
	// Execute does what Run does, with inputs that are as the plan describes them. It
	// checks first that the provider executes the plan. stats is never nil; Peak is not
	// its own.
	Execute(ctx context.Context, plan *joincore.Checked, inputs []*joincore.Relation, mem joincore.Memory,
		sink joincore.Sink, opt Options, stats *joincore.Stats) error
}

// Run executes plan over inputs and passes the result to sink. It allocates
// memory whose size depends on the data from mem, and frees all of it before it
// returns. It also returns when ctx is done. Errors wrap ErrBudget,
// ErrRowTooWide, ErrUnsupported or ErrInvalid, or are those of ctx or sink.
func Run(ctx context.Context, p device.Provider, plan *joincore.Checked, inputs []*joincore.Relation,
	mem joincore.Memory, sink joincore.Sink, opt Options, stats *joincore.Stats) (err error) {
	defer device.Recover(&err)
	if err := plan.CheckInputs(inputs); err != nil {
		return err
	}
	start := time.Now()
	counted := joincore.NewAccount("plan", mem)
	defer counted.Leave()
	if x, ok := p.(Executor); ok {
		if stats == nil {
			stats = &joincore.Stats{}
		}
		defer func() { stats.Peak = counted.Peak() }()
		return x.Execute(ctx, plan, inputs, counted, sink, opt, stats)
	}
	if err := device.Check(p, plan); err != nil {
		return err
	}
	opt.Device.Inputs = deviceInputs(plan)
	dev, err := p.Open(counted, opt.Device)
	if err != nil {
		return err
	}
	defer dev.Close()
	e := newPlanState(ctx, plan, inputs, opt)
	var x executor
	var turns device.Turns
	switch d := dev.(type) {
	case device.Bulk:
		x = newBulk(e, d)
	case device.Chunked:
		x = newChunked(e, d)
		turns = opt.Device.Turn()
	default:
		return fmt.Errorf("a device of type %T: %w", dev, joincore.ErrUnsupported)
	}
	out := e.output(sink)
	out.Turns = turns
	defer func() {
		if stats == nil {
			return
		}
		stats.Provider = p.Name()
		stats.RowsOut, stats.BytesOut = out.Rows.Load(), out.Bytes.Load()
		stats.JoinTime = time.Since(start) - out.Waits.Each(dev.Streams())
		stats.Peak = counted.Peak()
		stats.Joins, stats.Aggregates = x.joinStats(), e.groups
		if d, ok := dev.(exchanging); ok {
			stats.Sent, stats.Hops = d.Exchanged()
		}
		if d, ok := dev.(meeting); ok {
			stats.Met = d.Met()
		}
		if d, ok := dev.(transferring); ok {
			stats.StrategyReason = d.TransferReason()
		}
		explainAlgorithms(plan.Algorithm, stats.Joins)
		if n := len(stats.Joins); n > 0 {
			root, gather := &stats.Joins[n-1], x.gather()
			root.AddPhase(gather)
			root.Time += gather.Actual
		}
	}()
	if err := e.importInputs(dev); err != nil {
		return err
	}
	return x.run(out)
}

// exchanging is a device that copies from others.
type exchanging interface {
	// Exchanged returns how many bytes the execution has copied from other devices, or
	// read in their memory, and how many links each of them has crossed.
	Exchanged() (bytes int64, hops int)
}

// meeting is a device that meets others at a join.
type meeting interface {
	// Met returns how long the execution has waited there for the last one of the others.
	Met() time.Duration
}

// transferring is a device whose inputs are to reach it by a certain method.
type transferring interface {
	// TransferReason returns why some were transferred by another method, or "".
	TransferReason() string
}

// explainAlgorithms makes the joins that a forced algorithm did not execute,
// and only those, have a reason.
func explainAlgorithms(forced joincore.Algorithm, joins []joincore.JoinStats) {
	for i := range joins {
		switch j := &joins[i]; {
		case forced == 0 || forced.Executed(j.Algorithm):
			j.Reason = ""
		case j.Reason == "":
			j.Reason = "the provider cannot execute it"
		}
	}
}

// executor runs a plan on one of the two kinds of device.
type executor interface {
	run(out *Output) error
	joinStats() []joincore.JoinStats // in post-order
	// gather returns the last phase of the topmost join: gathering its result
	// into the sink's batches.
	gather() joincore.Phase
}

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
	e := &planState{sized: newSized(plan, planned, rows, nil), ctx: ctx, inputs: inputs, opt: opt, number: map[*joincore.Join]int{}}
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
// derived input, or in one without rows. If it is wrong, batches hold fewer rows.
const guessedTextBytes = 16

// meanHeap returns the mean heap bytes per row. An execution without rows may return those of other
// devices.
func meanHeap(r *joincore.Relation, column int) float64 {
	bytes, rows := 0, 0
	for i := range r.Segments {
		rows += r.Segments[i].Rows
		if column < len(r.Segments[i].Columns) {
			bytes += len(r.Segments[i].Columns[column].Heap)
		}
	}
	if rows == 0 {
		return guessedTextBytes
	}
	return float64(bytes) / float64(rows)
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
