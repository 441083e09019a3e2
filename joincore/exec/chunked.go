package exec

import (
	"context"
	"slices"
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
	if err := e.sample(); err != nil {
		return err
	}
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

// stored returns a side as a space: the base relation, or tuples of row ids.
// The caller must call release.
func (e *chunked) stored(s *side) (space device.Space, release func(), err error) {
	f, err := e.flowOf(s, true)
	if err != nil {
		return nil, nil, err
	}
	if space, ok := f.plain(); ok {
		return space, func() {}, nil
	}
	t, err := e.dev.NewTuples(inputsNeeded(s), s.key)
	if err != nil {
		return nil, nil, err
	}
	if err := e.drain(f, Collect(t)); err != nil {
		t.Release()
		return nil, nil, err
	}
	return t, t.Release, nil
}

// execute stores the build side, completes the decision with its actual size,
// and returns the flow of the join's result.
func (e *chunked) execute(n *joincore.Join, j *join, build, probe *side, kept bool) (*flow, error) {
	space, release, err := e.stored(build)
	if err != nil {
		return nil, err
	}
	j.buildRows = rowsOf(space)
	if err := e.choose(n, j, space, build, probe); err != nil {
		release()
		return nil, err
	}
	if kept {
		j.leavePayload("its result is stored as row ids")
	}
	if e.opt.Rates != nil {
		j.predicted = e.opt.Rates.Predict(costmodel.CoreJoin{
			Algorithm: j.decision.Algorithm, BuildRows: j.buildRows, ProbeRows: probe.rows,
			Result: e.rows[n], Columns: len(e.plan.Output),
		}, e.dev.Streams())
	}
	m := device.Match{Build: build.key, Probe: probe.key, Residual: n.Residual, Parameters: e.plan.Parameters, ProbeRows: probe.read}
	plan := PlanKind(n.Kind, j.decision.BuildLeft, m)
	if j.decision.Algorithm == joincore.NPJ {
		return e.npj(j, plan, space, release, probe, kept)
	}
	return e.transformed(j, plan, space, release, build, probe)
}

// choose makes the choices that are still open in the decision.
func (e *chunked) choose(n *joincore.Join, j *join, space device.Space, build, probe *side) (err error) {
	if j.decision.Bits == 0 {
		j.decision.Bits = costmodel.Bits(j.buildRows)
	}
	if j.decision.Algorithm != 0 {
		return nil
	}
	j.decision.Algorithm, err = e.opt.Rates.Algorithm(costmodel.Side{
		BuildRows: j.buildRows, ProbeRows: probe.rows, ProbePipelined: hasJoin(probe.node),
		ResultRows: clampRows(n.Rows), Columns: e.movable(build) + e.movable(probe),
		Dense: func() (bool, error) {
			r, err := e.dev.KeyRange(e.ctx, space, build.key)
			return r.VeryDense(probe.read), err
		},
	})
	return err
}

func (e *chunked) npj(j *join, plan *Plan, space device.Space, release func(), probe *side, kept bool) (*flow, error) {
	f, err := e.flowOf(probe, kept)
	if err != nil {
		release()
		return nil, err
	}
	table, err := BuildTable(e.ctx, e.dev, plan, space, &j.counter)
	if err != nil {
		release()
		return nil, err
	}
	s := step{Step: &ProbeStep{Context: e.ctx, Plan: plan, Table: table, Counter: &j.counter}}
	if plan.Leftover {
		s.extra = &Leftover{Device: e.dev, Space: space, Found: plan.Found}
	}
	f.steps = append(f.steps, s)
	f.release = append(f.release, table.Release, release)
	return f, nil
}

// transformed transforms both sides. It frees their sources as soon as they
// have been read.
func (e *chunked) transformed(j *join, plan *Plan, space device.Space, release func(), build, probe *side) (*flow, error) {
	from, releaseProbe, err := e.stored(probe)
	if err != nil {
		release()
		return nil, err
	}
	movedBuild, movedProbe := e.moved(build, space, j), e.moved(probe, from, j)
	if len(movedBuild.Spec.Carry)+len(movedProbe.Spec.Carry) == 0 && len(movedBuild.Spec.RowIDs)+len(movedProbe.Spec.RowIDs) > 0 {
		j.leavePayload("no column of its payload can be moved with the key")
	}
	transformed, err := Transform(e.ctx, e.dev, j.decision.Algorithm, plan, movedBuild, j.decision.Bits, &j.counter)
	release()
	if err != nil {
		releaseProbe()
		return nil, err
	}
	matches, err := transformed.Probe(e.ctx, movedProbe)
	releaseProbe()
	if err != nil {
		transformed.Release()
		return nil, err
	}
	f := &flow{source: matches, release: []func(){matches.Release, transformed.Release}}
	if plan.Leftover {
		f.extra = &Leftover{Device: e.dev, Space: transformed.Space(), Found: plan.Found}
	}
	return f, nil
}

// flow is a part of the plan that is ready to run: a source and the steps that
// process its chunks.
type flow struct {
	source  Source
	steps   []step
	extra   *Leftover // of the source
	release []func()  // called after the flow has run
}

// step is a step of a flow, with the build rows that it returns in the end.
type step struct {
	Step
	extra *Leftover
}

// stages orders the sources of a flow: rows that a join returns after all
// probing pass through the steps behind it.
func (f *flow) stages() []Stage {
	steps := make([]Step, len(f.steps))
	for i, s := range f.steps {
		steps[i] = s.Step
	}
	out := []Stage{{Source: f.source, Steps: steps}}
	if f.extra != nil {
		out = append(out, Stage{Source: f.extra, Steps: steps})
	}
	for i, s := range f.steps {
		if s.extra != nil {
			out = append(out, Stage{Source: s.extra, Steps: steps[i+1:]})
		}
	}
	return out
}

// close releases what the flow holds.
func (f *flow) close() {
	for _, release := range f.release {
		release()
	}
}

// plain returns the space of a flow that consists of a scan alone.
func (f *flow) plain() (device.Space, bool) {
	if s, ok := f.source.(*Scan); ok && len(f.steps) == 0 {
		return s.Space(), true
	}
	return nil, false
}

// aggregate groups the rows of its child, which never exist beyond a chunk, and
// returns the flow of the groups. These stay until an aggregate above has read
// them, or until the end: columns of theirs may be fetched by row number.
func (e *chunked) aggregate(n *joincore.Aggregate) (*flow, error) {
	// Carried columns are fetched by row number at the end: the joins below pass
	// these on, not moved columns.
	f, err := e.flow(n.Child, newColumns(joincore.AggregateColumns(n)), len(n.Carry) > 0)
	if err != nil {
		return nil, err
	}
	a, err := e.dev.Aggregate(e.aggregateSpec(n))
	if err != nil {
		f.close()
		return nil, err
	}
	defer a.Release()
	defer func() { e.groups[slices.Index(e.aggregates, n)] = a.Report() }()
	if err := e.drain(f, Group(a)); err != nil {
		return nil, err
	}
	space, err := a.Space(e.ctx)
	if err != nil {
		return nil, err
	}
	for _, below := range joincore.Aggregates(n.Child) {
		if s := e.spaces[below.ID]; s != nil {
			s.Release()
			e.spaces[below.ID] = nil
		}
	}
	e.spaces[n.ID] = space
	e.rows[n] = rowsOf(space)
	return &flow{source: NewScan(e.dev, space)}, nil
}

// aggregateSpec describes an aggregate to a device.
func (e *planState) aggregateSpec(n *joincore.Aggregate) *device.AggregateSpec {
	return &device.AggregateSpec{
		ID: n.ID, Keys: n.Keys, Carry: n.Carry, Functions: n.Functions, Parameters: e.plan.Parameters,
		Columns: e.schema[n.ID], Schema: e.schema, Groups: clampRows(n.Rows),
	}
}

// deviceInputs is how many inputs a device may see: those of the plan, the results of its
// aggregates, and behind them the distinct values of each aggregate's functions, which take
// the same numbers as those of the others.
func deviceInputs(p *joincore.Checked) int {
	aggregates, most := joincore.Aggregates(p.Root), 0
	for _, a := range aggregates {
		distinct := 0
		for i := range a.Functions {
			if a.Functions[i].Distinct {
				distinct++
			}
		}
		most = max(most, distinct)
	}
	return len(p.Inputs) + len(aggregates) + most
}
