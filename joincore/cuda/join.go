//go:build cuda

package cuda

import (
	"context"
	"fmt"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// prepared is a join by row id: it finds pairs of row ids, and later steps
// fetch the columns they read (GFTR's UM).
type prepared struct {
	e       *execution
	spec    *device.JoinSpec
	reason  string // why the algorithm of spec does not execute the join
	build   *space
	join    *rowid.Join
	prepare time.Duration
	probing time.Duration // includes partitioning the probe side
	// Predicted times of both, with uploads of columns.
	prepareMeant, probingMeant time.Duration
}

// Prepare prepares the build side. The memory of the join is on top of the
// stack until it is released. If device memory is too small for the columns of
// a whole side, the join uses late materialisation. Where executions on several devices exchange
// rows, they meet in Probe, and here where they make one table.
func (e *execution) Prepare(ctx context.Context, spec *device.JoinSpec, build device.Space) (device.Prepared, error) {
	if at, ok := e.opt.Common.Team.(*attendance); ok && at.exchange.Joins(spec) {
		return e.prepareMeeting(ctx, spec, e.space(build), at)
	}
	if at, ok := e.opt.Common.Team.(*spreadPlace); ok && at.exchange.Joins(spec) {
		return e.prepareSpread(ctx, spec, e.space(build), at)
	}
	shared, _ := e.opt.Common.Partition.(*outofcore.SharedJoin)
	if build, probe, ok := e.partitionableSides(spec, e.space(build)); ok {
		if j, ok := outofcore.Prepare(e, spec, build, probe, shared); ok {
			return j, nil
		}
	}
	if shared != nil {
		return nil, fmt.Errorf("a join whose sides cannot be partitioned among devices: %w", joincore.ErrUnsupported)
	}
	run, reason := e.suits(spec)
	if run != nil {
		j, err := e.prepareMaterialised(ctx, spec, e.space(build), run)
		if err == nil || failed(ctx, err) {
			return j, err
		}
		reason = whyNotMaterialised(err)
	}
	return e.prepareNumbers(ctx, spec, e.space(build), reason)
}

// prepareNumbers partitions the build side. reason says why the algorithm of
// spec, if it names one, does not execute the join.
func (e *execution) prepareNumbers(ctx context.Context, spec *device.JoinSpec, build *space, reason string) (*prepared, error) {
	j := &prepared{e: e, spec: spec, reason: reason, build: build}
	j.prepareMeant, j.probingMeant = e.predictNumbers(spec, build.rows)
	j.prepareMeant += e.crossing(build, spec.Build, spec.Residual, spec.KeepBuild)
	start := time.Now()
	if v, ok := build.base(); ok { // upload payload while keys are partitioned
		v.Fetch(ctx, e.columnsRead(v.number, spec.Build, spec.Residual, spec.KeepBuild))
	}
	var err error
	j.join, err = e.workspace.main.Prepare(ctx, &rowid.JoinSpec{
		Match: spec.Match,
		Options: rowid.Options{
			Bits: spec.Bits, OneTable: spec.Algorithm == joincore.NPJ, Region: int64(e.opt.EmitRows), Seed: e.opt.Seed, Collide: e.opt.Collide,
		},
	}, e.side(ctx, j.build))
	if err != nil {
		return nil, err
	}
	j.prepare = time.Since(start)
	return j, nil
}

// Probe joins the probe side. If it is large and still on the host, one window
// is uploaded while the previous one is joined.
func (j *prepared) Probe(ctx context.Context, probe device.Space, emit func(device.Space) error) error {
	from := j.e.space(probe)
	j.probingMeant += j.e.crossing(from, j.spec.Match.Probe, j.spec.Residual, j.spec.KeepProbe)
	read := func(input int) []int {
		return j.e.columnsRead(input, j.spec.Match.Probe, j.spec.Residual, j.spec.KeepProbe)
	}
	return j.e.eachWindow(ctx, from, read, j.build.rows, func(from *space) error {
		return j.timed(func(emit func(rowid.Pairs) error) error {
			return j.join.Probe(ctx, j.e.side(ctx, from), emit)
		}, from, emit)
	})
}

func (j *prepared) Leftover(ctx context.Context, emit func(device.Space) error) error {
	return j.timed(func(emit func(rowid.Pairs) error) error {
		return j.join.Leftover(ctx, j.spec.Found, emit)
	}, nil, emit)
}

// timed runs a step that emits pairs and turns them into spaces. It does not
// count the time that emit takes.
func (j *prepared) timed(step func(func(rowid.Pairs) error) error, probe *space, emit func(device.Space) error) error {
	start := time.Now()
	defer func() { j.probing += time.Since(start) }()
	return step(func(pairs rowid.Pairs) error {
		mark := j.e.workspace.arena.Mark()
		defer j.e.workspace.arena.Rewind(mark)
		s, err := j.result(pairs, probe)
		if err != nil {
			return err
		}
		given := time.Now()
		err = emit(s)
		j.probing -= time.Since(given)
		return err
	})
}

// result returns a space of pairs of build and probe rows.
func (j *prepared) result(pairs rowid.Pairs, probe *space) (*space, error) {
	s := j.e.workspace.newSpace(pairs.Rows)
	for _, side := range []struct {
		from   *space
		chosen driver.Ptr
		keep   device.Keep
	}{{j.build, pairs.Build, j.spec.KeepBuild}, {probe, pairs.Probe, j.spec.KeepProbe}} {
		if side.chosen == 0 {
			continue
		}
		if err := s.pick(side.from, side.chosen, side.keep); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Report returns the statistics of the join so far.
func (j *prepared) Report() joincore.JoinStats {
	r := j.join.Report()
	r.Work.Peak = j.e.workspace.arena.Peak()
	algorithm, prepare := "phj-rowid", costmodel.PhaseBuildSide
	if r.OneTable {
		algorithm, prepare = "npj-rowid", costmodel.PhaseBuild
	}
	return joincore.JoinStats{
		Algorithm: algorithm, Reason: j.reason, Bits: r.Bits,
		BuildRows: r.BuildRows, ProbeRows: r.ProbeRows, RowsOut: r.ResultRows, Time: j.prepare + j.probing,
		Phases: []joincore.Phase{
			{Name: prepare, Predicted: j.prepareMeant, Actual: j.prepare}, {Name: costmodel.PhaseProbe, Predicted: j.probingMeant, Actual: j.probing},
		},
		Work: r.Work,
	}
}

// Release frees the build side's partitions.
func (j *prepared) Release() { j.join.Release() }
