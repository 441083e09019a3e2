package run

import (
	"context"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/algo"
	"gpujoin/joincore/choose"
	"gpujoin/joincore/device"
)

// execution is one run of a plan.
type execution struct {
	ctx    context.Context
	dev    device.Chunked
	plan   *joincore.Plan
	inputs []*joincore.Relation
	spaces []device.Space
	opt    Options
	joins  []*join // in post-order
	number map[*joincore.Join]int
}

// join is what is known of one join while the plan runs.
type join struct {
	decision  choose.Decision
	counter   algo.Counter
	buildRows int64
	prepare   time.Duration // building and partitioning, all cores at once
}

// flow is a part of the plan that is ready to run: a source, and the steps
// that its chunks take.
type flow struct {
	source  algo.Source
	steps   []step
	extra   *algo.Leftover // of the source
	release []func()       // when it has run
}

// step is a step of a flow, with the build rows that it returns in the end.
type step struct {
	algo.Step
	extra *algo.Leftover
}

// stages puts the sources of a flow in order: what a join returns after all
// probing passes through the steps behind it.
func (f *flow) stages() []algo.Stage {
	steps := make([]algo.Step, len(f.steps))
	for i, s := range f.steps {
		steps[i] = s.Step
	}
	out := []algo.Stage{{Source: f.source, Steps: steps}}
	if f.extra != nil {
		out = append(out, algo.Stage{Source: f.extra, Steps: steps})
	}
	for i, s := range f.steps {
		if s.extra != nil {
			out = append(out, algo.Stage{Source: s.extra, Steps: steps[i+1:]})
		}
	}
	return out
}

// plain returns the space of a flow that is nothing but a scan.
func (f *flow) plain() (device.Space, bool) {
	if s, ok := f.source.(*algo.Scan); ok && len(f.steps) == 0 {
		return s.Space(), true
	}
	return nil, false
}

// flow prepares a node. needed are the columns that are read above it; kept
// says that its rows are going to be stored as row numbers.
func (e *execution) flow(n joincore.Node, needed columns, kept bool) (*flow, error) {
	switch n := n.(type) {
	case *joincore.Scan:
		return &flow{source: algo.NewScan(e.dev, e.spaces[n.Input])}, nil
	case *joincore.Filter:
		f, err := e.flow(n.Child, needed.with(expressionColumns(n.Predicate)...), kept)
		if err != nil {
			return nil, err
		}
		f.steps = append(f.steps, step{Step: &algo.FilterStep{
			Context: e.ctx, Predicate: n.Predicate, Parameters: e.plan.Parameters,
		}})
		return f, nil
	default:
		return e.join(n.(*joincore.Join), needed, kept)
	}
}

// side is one side of a join while the other one may still be prepared.
type side struct {
	node   joincore.Node
	inputs []int
	key    *device.Key
	needed columns
}

func (e *execution) join(n *joincore.Join, needed columns, kept bool) (*flow, error) {
	left, right := sides(n, needed, e.columnOf)
	j := e.joins[e.number[n]]
	sizes := joinSizes(n, e.estimate)
	j.decision.BuildLeft = sizes.BuildLeft()
	probeRows := sizes.LeftRows
	if j.decision.BuildLeft {
		probeRows = sizes.RightRows
	}
	j.decision = e.decide(n, j.decision)
	build, probe := right, left
	if j.decision.BuildLeft {
		build, probe = left, right
	}
	return e.execute(n, j, build, probe, probeRows, kept)
}

// decide lets tests and benchmarks overrule a choice.
func (e *execution) decide(n *joincore.Join, d choose.Decision) choose.Decision {
	if e.opt.Decide != nil {
		return e.opt.Decide(e.number[n], d)
	}
	return d
}

// count numbers the joins in post-order.
func (e *execution) count(n joincore.Node) {
	switch n := n.(type) {
	case *joincore.Filter:
		e.count(n.Child)
	case *joincore.Join:
		e.count(n.Left)
		e.count(n.Right)
		e.number[n] = len(e.joins)
		e.joins = append(e.joins, &join{})
	}
}

func (e *execution) columnOf(c joincore.ColumnRef) joincore.Column {
	return e.plan.Inputs[c.Input].Columns[c.Column]
}

func hasJoin(n joincore.Node) bool {
	switch n := n.(type) {
	case *joincore.Filter:
		return hasJoin(n.Child)
	case *joincore.Join:
		return true
	}
	return false
}

// estimate returns the rows of a node: of scans the real number, of joins the
// planner's.
func (e *execution) estimate(n joincore.Node) int64 {
	return estimateRows(n, func(input int) int64 { return e.inputs[input].Rows() })
}

func inputsNeeded(s *side) []int {
	return inputsOf(s.needed.of(s.inputs))
}

// flowOf prepares a side.
func (e *execution) flowOf(s *side, kept bool) (*flow, error) {
	needed := s.needed
	for _, p := range s.key.Parts {
		needed = needed.with(p.Column)
	}
	return e.flow(s.node, needed, kept)
}

// stored returns a side as a space: the base relation, or tuples of row
// numbers, which release frees.
func (e *execution) stored(s *side) (space device.Space, release func(), err error) {
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
	if err := e.drain(f, algo.Collect(t)); err != nil {
		t.Release()
		return nil, nil, err
	}
	return t, t.Release, nil
}

// execute stores the build side, decides with its real size, and returns the
// flow of the join's result.
func (e *execution) execute(n *joincore.Join, j *join, build, probe *side, probeRows int64, kept bool) (*flow, error) {
	space, release, err := e.stored(build)
	if err != nil {
		return nil, err
	}
	j.buildRows = rowsOf(space)
	if err := e.choose(n, j, space, build, probe, probeRows); err != nil {
		release()
		return nil, err
	}
	if j.decision.Algorithm == joincore.PHJOM && kept {
		j.decision.Algorithm = joincore.PHJUM // row numbers are all that is read of the result
	}
	m := device.Match{Build: build.key, Probe: probe.key, Residual: n.Residual, Parameters: e.plan.Parameters, ProbeRows: probeRows}
	plan := algo.PlanKind(n.Kind, j.decision.BuildLeft, m)
	if j.decision.Algorithm == joincore.NPJ {
		return e.npj(j, plan, space, release, probe, kept)
	}
	return e.transformed(j, plan, space, release, build, probe)
}

// choose completes the decision, as far as nobody has decided before.
func (e *execution) choose(n *joincore.Join, j *join, space device.Space, build, probe *side, probeRows int64) (err error) {
	if j.decision.Bits == 0 {
		j.decision.Bits = choose.Bits(j.buildRows)
	}
	if j.decision.Algorithm != 0 {
		return nil
	}
	j.decision.Algorithm, err = e.opt.Rates.Algorithm(choose.Side{
		BuildRows: j.buildRows, ProbeRows: probeRows, ProbePipelined: hasJoin(probe.node),
		ResultRows: clampRows(n.Rows), Columns: e.movable(build) + e.movable(probe),
		Dense: func() (bool, error) {
			r, err := e.dev.KeyRange(e.ctx, space, build.key)
			return r.VeryDense(probeRows), err
		},
	})
	return err
}

func (e *execution) npj(j *join, plan *algo.Plan, space device.Space, release func(), probe *side, kept bool) (*flow, error) {
	f, err := e.flowOf(probe, kept)
	if err != nil {
		release()
		return nil, err
	}
	start := time.Now()
	table, err := e.dev.Build(e.ctx, space, &plan.Match)
	if err != nil {
		release()
		return nil, err
	}
	j.prepare = time.Since(start)
	s := step{Step: &algo.ProbeStep{Context: e.ctx, Plan: plan, Table: table, Counter: &j.counter}}
	if plan.Leftover {
		s.extra = &algo.Leftover{Device: e.dev, Space: space, Found: plan.Found}
	}
	f.steps = append(f.steps, s)
	f.release = append(f.release, table.Release, release)
	return f, nil
}

// transformed transforms both sides; what they were made of is freed as soon
// as it has been read.
func (e *execution) transformed(j *join, plan *algo.Plan, space device.Space, release func(), build, probe *side) (*flow, error) {
	from, releaseProbe, err := e.stored(probe)
	if err != nil {
		release()
		return nil, err
	}
	start := time.Now()
	transformed, err := algo.Transform(e.ctx, e.dev, plan, e.moved(build, space, j), j.decision.Bits, &j.counter)
	release()
	if err != nil {
		releaseProbe()
		return nil, err
	}
	matches, err := transformed.Probe(e.ctx, e.moved(probe, from, j))
	releaseProbe()
	if err != nil {
		transformed.Release()
		return nil, err
	}
	j.prepare = time.Since(start)
	f := &flow{source: matches, release: []func(){matches.Release, transformed.Release}}
	if plan.Leftover {
		f.extra = &algo.Leftover{Device: e.dev, Space: transformed.Space(), Found: plan.Found}
	}
	return f, nil
}
