//go:build cuda

package cuda

import (
	"context"
	"fmt"
	"unsafe"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// split is a join of two inputs whose build side the device cannot hold. The
// host divides the rows of both by a hash of their keys, by a low fan-out, and
// the device joins one co-partition after the other; each crosses the link
// once, while the one before is joined (HAPE's co-processing join).
type split struct {
	e      *execution
	spec   *device.JoinSpec
	build  *space
	bits   int
	probed bool
	report joincore.JoinStats
}

// maxSplitBits bounds the fan-out: reading a column once a partition costs
// whole cache lines.
const maxSplitBits = 6

// splitBits returns by how many bits a join has to be divided; 0: it need not
// be, or cannot: then either side is not an input as it is, or the key is not
// of fixed width.
func (e *execution) splitBits(spec *device.JoinSpec, build *space) int {
	v, ok := build.base()
	if !ok || !v.whole() || len(spec.Build.Parts) == 0 {
		return 0
	}
	for _, p := range spec.Build.Parts {
		if p.Class == joincore.KeyVarlena {
			return 0
		}
	}
	probe := e.inputs[spec.Match.Probe.Parts[0].Column.Input]
	if probe.rows() != spec.ProbeRows {
		return 0
	}
	need := e.bytesOf(v, spec.Build, spec, spec.KeepBuild)
	free := e.site.arena.Free()
	fits := free / 4 * 3
	if e.p.splitBytes > 0 {
		fits = e.p.splitBytes
	}
	if need <= fits {
		return 0
	}
	need += e.bytesOf(probe.all, spec.Match.Probe, spec, spec.KeepProbe)
	bits := 1
	for bits < maxSplitBits && need>>bits > free/4 { // two co-partitions are there at a time
		bits++
	}
	return bits
}

// bytesOf is about what a side of a join takes on the device: its columns, and
// twice its keys and row numbers.
func (e *execution) bytesOf(v *view, key *device.Key, spec *device.JoinSpec, keep device.Keep) int64 {
	return v.rows * (v.input.bytesPerRow(e.columnsRead(v.number, key, spec.Residual, keep)) + 24)
}

// Probe joins all co-partitions. Build rows that are left over are emitted with
// the co-partition that they are of.
func (j *split) Probe(ctx context.Context, probe device.Space, emit func(device.Space) error) error {
	e, spec := j.e, j.spec
	v, ok := e.space(probe).base()
	if !ok || !v.whole() {
		return fmt.Errorf("a build side of %d rows, probed by a result: %w", j.build.rows, joincore.ErrBudget)
	}
	j.probed = true
	b, _ := j.build.base()
	build, free, err := e.partition(b, spec.Build, j.bits)
	if err != nil {
		return err
	}
	defer free()
	probes, free, err := e.partition(v, spec.Match.Probe, j.bits)
	if err != nil {
		return err
	}
	defer free()
	buildColumns := e.columnsRead(b.number, spec.Build, spec.Residual, spec.KeepBuild)
	probeColumns := e.columnsRead(v.number, spec.Match.Probe, spec.Residual, spec.KeepProbe)
	defer func() {
		for i := range build {
			build[i].close()
			probes[i].close()
		}
	}()
	return stages(ctx, len(build), func(ctx context.Context, i int) {
		build[i].fetch(ctx, buildColumns)
		probes[i].fetch(ctx, probeColumns)
	}, func(i int) error {
		defer build[i].close()
		defer probes[i].close()
		return j.one(ctx, build[i].space(), probes[i].space(), emit)
	})
}

func (j *split) one(ctx context.Context, build, probe *space, emit func(device.Space) error) error {
	join, err := j.e.prepareNumbers(ctx, j.spec, build)
	if err != nil {
		return err
	}
	defer join.Release()
	if err = join.Probe(ctx, probe, emit); err == nil && j.spec.Leftover {
		err = join.Leftover(ctx, emit)
	}
	add(&j.report, join.Report())
	return err
}

// partition divides an input. The lists are memory of the job.
func (e *execution) partition(v *view, key *device.Key, radix int) (parts []*view, free func(), err error) {
	mem, err := e.mem.Alloc(4 * max(v.rows, 1))
	if err != nil {
		return nil, nil, err
	}
	free = func() { e.mem.Free(mem) }
	lists, err := v.input.partition(key, radix, unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(mem))), v.rows))
	if err != nil {
		free()
		return nil, nil, err
	}
	for _, list := range lists {
		parts = append(parts, e.listView(v.number, list))
	}
	return parts, free, nil
}

// Leftover has nothing more to return, where an input has probed. Where a
// result has turned out to be empty nothing has, and all rows are left over.
func (j *split) Leftover(context.Context, func(device.Space) error) error {
	if !j.probed {
		return fmt.Errorf("a build side of %d rows, probed by nothing: %w", j.build.rows, joincore.ErrBudget)
	}
	return nil
}

// Report says what the join has done so far.
func (j *split) Report() joincore.JoinStats {
	r := j.report
	r.BuildRows, r.Bits = j.build.rows, r.Bits+j.bits
	return r
}

// Release has nothing to free.
func (j *split) Release() {}
