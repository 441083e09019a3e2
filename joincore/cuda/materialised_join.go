//go:build cuda

package cuda

import (
	"context"
	"errors"
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/columnar/selector"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// materialisedJoin is an inner join that takes both sides at once, and moves what is read
// later with the key (GFTR's OM) where that is cheaper than fetching it. It
// keeps nothing between Prepare and Probe but columns of the build side.
type materialisedJoin struct {
	e      *execution
	spec   *device.JoinSpec
	run    columnar.Func
	build  *space
	side   *materialisedSide
	mark   driver.Mark
	report joincore.JoinStats
	// What crossing the link is predicted to take, and what preparing took.
	crossing, prepare time.Duration
}

// materialisedAlgorithms are the algorithms that join materialised sides; the one for 0 chooses.
var materialisedAlgorithms = map[joincore.Algorithm]columnar.Func{
	joincore.PHJOM: phj.OM, joincore.PHJUM: phj.UM, joincore.SMJUM: columnar.SMJUM, joincore.SMJOM: columnar.SMJOM, joincore.NPJ: columnar.NPJ,
	0: selector.Run,
}

// suits returns the algorithm if a join can take both sides at once, and
// otherwise the reason why it cannot.
func (e *execution) suits(spec *device.JoinSpec) (columnar.Func, string) {
	if e.workspace.gpu.rowIDsOnly {
		return nil, "the provider joins by row ids only"
	}
	if reason := unfitForMaterialised(spec); reason != "" {
		return nil, reason
	}
	return materialisedAlgorithms[spec.Algorithm], ""
}

// prepareMaterialised gathers the build side's columns where they are not at hand.
func (e *execution) prepareMaterialised(ctx context.Context, spec *device.JoinSpec, build *space, run columnar.Func) (*materialisedJoin, error) {
	j := &materialisedJoin{e: e, spec: spec, run: run, build: build, mark: e.workspace.arena.Mark()}
	j.report.BuildRows = build.rows
	j.crossing = e.crossing(build, spec.Build, nil, spec.KeepBuild)
	start := time.Now()
	defer func() { j.prepare = time.Since(start) }()
	var err error
	before := e.workspace.main.Cost()
	j.side, err = e.materialise(ctx, build, spec.Build, spec.KeepBuild)
	j.report.Work.Add(e.workspace.main.WorkSince(before))
	if err != nil {
		e.workspace.arena.Rewind(j.mark)
		return nil, err
	}
	return j, nil
}

// Probe joins. Where the device has too little memory for that, the columns are
// too many, or the probe side comes over the link in windows, the join goes by
// row numbers after all.
func (j *materialisedJoin) Probe(ctx context.Context, probe device.Space, emit func(device.Space) error) error {
	from, arena := j.e.space(probe), j.e.workspace.arena
	if j.side == nil {
		return j.byNumber(ctx, from, emit, "no row of its build side has a key")
	}
	if v, ok := from.base(); ok && j.e.windows(v, j.e.columnsRead(v.number, j.spec.Match.Probe, nil, j.spec.KeepProbe), j.build.rows) != nil {
		return j.byNumber(ctx, from, emit, "its probe side is uploaded in windows")
	}
	mark := arena.Mark()
	defer arena.Rewind(mark)
	start := time.Now()
	j.crossing += j.e.crossing(from, j.spec.Match.Probe, nil, j.spec.KeepProbe)
	before := j.e.workspace.main.Cost()
	side, err := j.e.materialise(ctx, from, j.spec.Match.Probe, j.spec.KeepProbe)
	j.report.Work.Add(j.e.workspace.main.WorkSince(before))
	if err == nil && side != nil {
		var out *columnar.Output
		if out, err = j.join(ctx, side, start); err == nil {
			j.report.ProbeRows += from.rows
			j.report.RowsOut += out.Rows
			return j.emit(out, side, emit)
		}
	}
	if failed(ctx, err) {
		return err
	}
	arena.Rewind(mark)
	reason := "no row of its probe side has a key"
	if err != nil {
		reason = whyNotMaterialised(err)
	}
	return j.byNumber(ctx, from, emit, reason)
}

// failed says whether an error ends the join: ctx has ended, or the device is
// lost. Any other one says that the join is too large, or not one that the
// kernels can do.
func failed(ctx context.Context, err error) bool {
	var lost *driver.Error
	return err != nil && (ctx.Err() != nil || errors.As(err, &lost) && lost.Sticky())
}

// join runs the join of a probe side that has been asked for since start. What
// the join itself does not take is spent on columns that cross the link.
func (j *materialisedJoin) join(ctx context.Context, probe *materialisedSide, start time.Time) (*columnar.Output, error) {
	out, report, err := j.run(ctx, j.e.workspace.gpu.context, j.e.workspace.main.Stream(), j.e.workspace.arena, &columnar.Join{
		Build: j.side.Side, Probe: probe.Side, OutputRows: j.room(probe),
		NoKey: !j.side.keyKept && !probe.keyKept, Phases: true,
	})
	if err != nil {
		return nil, err
	}
	r := &j.report
	took := j.prepare + time.Since(start)
	r.Time += took
	r.AddPhase(joincore.Phase{Name: phaseTransfer, Predicted: j.crossing, Actual: max(0, took-milliseconds(report.MS))})
	j.prepare, j.crossing = 0, 0
	r.Algorithm, r.Reason = report.Algorithm, ""
	if a := j.spec.Algorithm; a != 0 && !a.Executed(r.Algorithm) {
		r.Reason = "a side is too wide to move with the key"
	}
	r.Work.Add(joincore.DeviceWork{Launches: report.Launches, Syncs: report.Syncs, Bytes: report.Bytes, Peak: report.PeakBytes})
	for _, p := range selector.Phases(report) {
		r.AddPhase(p)
	}
	return out, nil
}

// room is the result's expected size, as far as a quarter of the free memory
// holds it: a larger result is matched once more, when its size is known.
func (j *materialisedJoin) room(probe *materialisedSide) int64 {
	width := int64(probe.Key.Bytes)
	for _, c := range slices.Concat(j.side.Payload, probe.Payload) {
		width += int64(c.Bytes)
	}
	return min(max(j.spec.ResultRows, probe.Rows), j.e.workspace.arena.Free()/4/width)
}

// emit hands out the result in windows of its columns.
func (j *materialisedJoin) emit(out *columnar.Output, probe *materialisedSide, emit func(device.Space) error) error {
	window := int64(emitRows)
	if j.e.opt.EmitRows > 0 {
		window = int64(j.e.opt.EmitRows)
	}
	for first := int64(0); first < out.Rows; first += window {
		s := j.e.workspace.newSpace(min(window, out.Rows-first))
		j.side.cover(s, out.Key, out.Build, first)
		probe.cover(s, out.Key, out.Probe, first)
		if err := emit(s); err != nil {
			return err
		}
	}
	return nil
}

// emitRows is how many rows are emitted at a time.
const emitRows = 1 << 25

// byNumber does the join by row numbers, for the given reason.
func (j *materialisedJoin) byNumber(ctx context.Context, probe *space, emit func(device.Space) error, reason string) error {
	other, err := j.e.prepareNumbers(ctx, j.spec, j.build, reason)
	if err != nil {
		return err
	}
	defer other.Release()
	err = other.Probe(ctx, probe, emit)
	j.report.Add(other.Report())
	return err
}

// Leftover has nothing to return: an inner join leaves no rows over.
func (j *materialisedJoin) Leftover(context.Context, func(device.Space) error) error { return nil }

// Report says what the join has done so far.
func (j *materialisedJoin) Report() joincore.JoinStats {
	r := j.report
	r.Phases = slices.Clone(r.Phases)
	return r
}

// Release gives the build side's columns back.
func (j *materialisedJoin) Release() { j.e.workspace.arena.Rewind(j.mark) }
