package exec

import (
	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

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
	m := device.Match{Build: build.key, Probe: probe.key, Residual: n.Residual, Parameters: e.plan.Parameters, ProbeRows: probe.rows}
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
			return r.VeryDense(probe.rows), err
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
