package exec

import (
	"context"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// chunked runs a plan on a device that processes chunks.
type chunked struct {
	*planState
	dev      device.Chunked
	joins    []*join // in post-order
	gathered time.Duration
}

func newChunked(e *planState, d device.Chunked) *chunked {
	c := &chunked{planState: e, dev: d}
	for range e.number {
		c.joins = append(c.joins, &join{})
	}
	return c
}

func (e *chunked) run(out *Output) error {
	defer func() { e.gathered = out.Gathers.Each(e.dev.Streams()) }()
	f, err := e.flow(e.plan.Root, newColumns(e.plan.Output), false)
	if err != nil {
		return err
	}
	return out.Finish(e.ctx, e.drain(f, out.Consume))
}

func (e *chunked) drain(f *flow, consume func(context.Context, device.ChunkStream) Consumer) error {
	p := &Pipeline{Device: e.dev, Turns: e.opt.Device.Turn(), Stages: f.stages(), Consume: consume}
	err := p.Run(e.ctx)
	f.close()
	return err
}

func (e *chunked) joinStats() []joincore.JoinStats {
	workers := e.dev.Streams()
	var out []joincore.JoinStats
	for _, j := range e.joins {
		out = append(out, joincore.JoinStats{
			Algorithm: j.decision.Algorithm.String(), Reason: j.reason, BuildLeft: j.decision.BuildLeft, Bits: j.bits(),
			BuildRows: j.buildRows, ProbeRows: j.counter.In.Load(), RowsOut: j.counter.Out.Load(),
			Time: j.counter.Time(workers), Phases: j.phases(workers),
		})
	}
	return out
}

func (e *chunked) gather() joincore.Phase {
	p := joincore.Phase{Name: costmodel.PhaseGather, Actual: e.gathered}
	if n := len(e.joins); n > 0 {
		p.Predicted = e.joins[n-1].ms(p.Name)
	}
	return p
}

// join is the state of one join while the plan runs.
type join struct {
	decision  costmodel.Decision
	reason    string // why the algorithm is not the one that was decided
	counter   Counter
	buildRows int64
	predicted costmodel.Prediction
}

// leavePayload makes the join use UM in place of OM, and records why.
func (j *join) leavePayload(reason string) {
	if um := j.decision.Algorithm.UM(); um != j.decision.Algorithm {
		j.decision.Algorithm, j.reason = um, reason
	}
}

// phases returns the measured and the predicted time of the join's phases.
func (j *join) phases(workers int) []joincore.Phase {
	list := j.counter.Phases(j.decision.Algorithm, workers)
	for i := range list {
		list[i].Predicted = j.ms(list[i].Name)
	}
	return list
}

// ms returns the predicted time of a phase, 0 if there is no prediction.
func (j *join) ms(phase string) time.Duration {
	return time.Duration(j.predicted.Of(phase) * float64(time.Millisecond))
}

// bits returns the radix bits that the join has used.
func (j *join) bits() int {
	if j.decision.Algorithm == joincore.PHJUM || j.decision.Algorithm == joincore.PHJOM {
		return j.decision.Bits
	}
	return 0
}

// flow prepares a node. needed are the columns that are read above it; kept
// reports whether its rows will be stored as row ids.
func (e *chunked) flow(n joincore.Node, needed columns, kept bool) (*flow, error) {
	switch n := n.(type) {
	case *joincore.Scan:
		return &flow{source: NewScan(e.dev, e.spaces[n.Input])}, nil
	case *joincore.Filter:
		f, err := e.flow(n.Child, needed.with(joincore.Columns(n.Predicate)...), kept)
		if err != nil {
			return nil, err
		}
		f.steps = append(f.steps, step{Step: &FilterStep{
			Context: e.ctx, Predicate: n.Predicate, Parameters: e.plan.Parameters,
		}})
		return f, nil
	case *joincore.Aggregate:
		return e.aggregate(n)
	default:
		return e.join(n.(*joincore.Join), needed, kept)
	}
}

func (e *chunked) join(n *joincore.Join, needed columns, kept bool) (*flow, error) {
	j := e.joins[e.number[n]]
	var build, probe *side
	build, probe, j.decision = e.decided(n, needed)
	return e.execute(n, j, build, probe, kept)
}

// flowOf prepares a side.
func (e *chunked) flowOf(s *side, kept bool) (*flow, error) {
	return e.flow(s.node, s.withKey(), kept)
}
