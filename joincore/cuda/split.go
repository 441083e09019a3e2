//go:build cuda

package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// split is a join of two inputs whose build side exceeds device memory. Both
// are partitioned by a hash of their keys with a low fan-out, and one
// co-partition is joined while the next one is uploaded (HAPE's co-processing
// join). The device partitions window by window and downloads the columns that
// the join reads. If the host has too little memory for that, or a column is
// too wide, the host partitions row ids and gathers rows during the upload.
type split struct {
	e      *execution
	spec   *device.JoinSpec
	build  *space
	bits   int
	probed bool
	report joincore.JoinStats
}

// maxSplitBits bounds the fan-out: each window's part of a co-partition is a
// separate copy, and small copies are dominated by their fixed cost.
const maxSplitBits = 7

// splitBits returns the number of radix bits by which a join must be
// partitioned. It returns 0 if it need not be, or if it cannot be because a
// side is not a complete input or the device reads a column of variable length.
func (e *execution) splitBits(spec *device.JoinSpec, build *space) int {
	v, ok := build.base()
	if !ok || !v.whole() || !spec.ProbeInput || len(spec.Build.Parts) == 0 {
		return 0
	}
	probe := e.inputs[spec.Match.Probe.Parts[0].Column.Input]
	if v.readsTexts(e.columnsRead(v.number, spec.Build, spec.Residual, spec.KeepBuild)) ||
		probe.all.readsTexts(e.columnsRead(probe.all.number, spec.Match.Probe, spec.Residual, spec.KeepProbe)) {
		return 0
	}
	built := e.bytesOf(v, spec.Build, spec, spec.KeepBuild)
	free := e.workspace.arena.Free()
	fits := free / 4 * 3
	if e.p.splitBytes > 0 {
		fits = e.p.splitBytes
	}
	if built.columns+built.partitions <= fits {
		return 0
	}
	probed := e.bytesOf(probe.all, spec.Match.Probe, spec, spec.KeepProbe)
	// The columns of two co-partitions are on the device at a time.
	need := 2*(built.columns+probed.columns) + built.partitions + probed.partitions
	bits := 1
	for bits < maxSplitBits && need>>bits > free/4*3 {
		bits++
	}
	return bits
}

// readsTexts reports whether one of the columns has variable length.
func (v *view) readsTexts(columns []int) bool {
	return slices.ContainsFunc(columns, func(j int) bool { return v.input.relation.Columns[j].Kind == joincore.Varlena })
}

// sideBytes estimates the device memory of a side of a join.
type sideBytes struct {
	columns    int64
	partitions int64 // keys and row numbers, twice
}

func (e *execution) bytesOf(v *view, key *device.Key, spec *device.JoinSpec, keep device.Keep) sideBytes {
	return sideBytes{v.rows * v.input.bytesPerRow(e.columnsRead(v.number, key, spec.Residual, keep)), 24 * v.rows}
}

// Probe joins all co-partitions. Leftover build rows are emitted with their
// co-partition.
func (j *split) Probe(ctx context.Context, probe device.Space, emit func(device.Space) error) (err error) {
	v, ok := j.e.space(probe).base()
	if !ok || !v.whole() {
		return fmt.Errorf("out-of-core join of %d build rows with the result of another join: %w", j.build.rows, joincore.ErrBudget)
	}
	j.probed = true
	b, _ := j.build.base()
	build := j.sideOf(b, j.spec.Build, j.spec.KeepBuild)
	probed := j.sideOf(v, j.spec.Match.Probe, j.spec.KeepProbe)
	divide := j.byDevice
	if j.e.p.divideBy == rowNumbersOnly {
		divide = j.byHost
	}
	before := j.e.workspace.main.Cost()
	parts, free, err := divide(ctx, build, probed)
	addWork(&j.report.Work, j.e.workSince(before))
	if errors.Is(err, joincore.ErrBudget) {
		parts, free, err = j.byHost(ctx, build, probed)
	}
	if err != nil {
		return err
	}
	defer func() {
		for _, c := range parts {
			c.close()
		}
		// What crosses for nothing must not read memory that is somebody else's.
		load := j.e.workspace.upload
		err = errors.Join(err, load.stream.Sync(context.Background()), load.second.Sync(context.Background()))
		free()
	}()
	return stages(ctx, len(parts), func(ctx context.Context, i int) {
		parts[i].build.fetch(ctx, build.columns)
		parts[i].probe[0].fetch(ctx, probed.columns)
	}, func(i int) error {
		defer parts[i].close()
		return j.one(ctx, parts[i], emit)
	})
}

// one joins a co-partition.
func (j *split) one(ctx context.Context, c copartition, emit func(device.Space) error) error {
	build, err := c.build.joined(ctx)
	if err != nil {
		return err
	}
	join, err := j.e.prepareNumbers(ctx, j.spec, build, "its build side exceeds the device's memory")
	if err != nil {
		return err
	}
	defer join.Release()
	for i, v := range c.probe {
		probe, err := v.joined(ctx)
		if err != nil {
			return err
		}
		if err := join.Probe(ctx, probe, emit); err != nil {
			return err
		}
		if i > 0 { // the first one's memory is that of the build side, too
			v.close()
		}
	}
	if j.spec.Leftover {
		err = join.Leftover(ctx, emit)
	}
	add(&j.report, join.Report())
	return err
}

// Leftover has nothing more to return, where an input has probed. Where a
// result has turned out to be empty nothing has, and all rows are left over.
func (j *split) Leftover(context.Context, func(device.Space) error) error {
	if !j.probed {
		return fmt.Errorf("out-of-core join of %d build rows with an empty probe side: %w", j.build.rows, joincore.ErrBudget)
	}
	return nil
}

// Report returns the statistics of the join so far.
func (j *split) Report() joincore.JoinStats {
	r := j.report
	r.BuildRows, r.Bits = j.build.rows, r.Bits+j.bits
	return r
}

// Release does nothing: there is nothing to free.
func (j *split) Release() {}
