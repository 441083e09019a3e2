//go:build cuda

package outofcore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Side is a side of a join: a complete input.
type Side struct {
	All      View
	Key      *device.Key
	Columns  []int // columns that the join reads on the device
	Numbered bool  // row ids are uploaded as well, to fetch further columns
}

// split is a join of two inputs whose build side exceeds device memory. Both
// are partitioned by a hash of their keys with a low fan-out, and one
// co-partition is joined while the next one is uploaded (HAPE's co-processing
// join). The device partitions window by window and downloads the columns that
// the join reads. If the host has too little memory for that, or a column is
// too wide, the host partitions row ids and gathers rows during the upload.
type split struct {
	e            Resources
	spec         *device.JoinSpec
	build, probe Side
	shared       *SharedJoin
	bits         int
	stays        bool // windows stay on the device
	probed       bool
	built        int64 // build rows of the co-partitions that were joined here
	report       joincore.JoinStats
}

// phasePartition is the phase in which both inputs are partitioned, through host memory.
const phasePartition = "partition out of core"

// Prepare returns a join of two complete inputs that partitions both. It returns
// false if the build side fits device memory, or if the device reads a column of
// variable length, which cannot be partitioned. If t is not nil, other executions do the
// join as well, and it is partitioned whatever fits.
func Prepare(e Resources, spec *device.JoinSpec, build, probe Side, t *SharedJoin) (device.Prepared, bool) {
	if build.readsTexts() || probe.readsTexts() {
		return nil, false
	}
	bits := splitBits(e, build, probe)
	if bits == 0 && t == nil {
		return nil, false
	}
	if t == nil {
		t = NewSharedJoin(1, true)
	}
	j := &split{e: e, spec: spec, build: build, probe: probe, shared: t, bits: max(bits, 1)}
	if more := min(j.bits+1, maxSplitBits); t.canStay(build, probe) && j.worthStaying(more) {
		j.stays, j.bits = true, more // smaller co-partitions leave more memory to windows
	}
	return j, true
}

// worthStaying reports whether windows should stay on the device with that fan-out.
func (j *split) worthStaying(bits int) bool {
	d, rowBytes := j.e.Device(), int64(0)
	if d.ResidentBytes != 0 {
		return d.ResidentBytes > 0
	}
	for _, s := range []Side{j.build, j.probe} {
		_, in := s.All.Input()
		rowBytes = max(rowBytes, in.BytesPerRow(s.Columns))
	}
	return worthStaying(j.e.Main().Arena().Free(), j.build.bytes(), j.probe.bytes(), rowBytes, bits, j.shared.members)
}

// splitBits returns the number of radix bits by which a join must be partitioned;
// 0: it need not be.
func splitBits(e Resources, build, probe Side) int {
	built := build.bytes()
	free := e.Main().Arena().Free()
	fits := free / 4 * 3
	if bytes := e.Device().SplitBytes; bytes > 0 {
		fits = bytes
	}
	if built.columns+built.partitions <= fits {
		return 0
	}
	return fanoutBits(free, built, probe.bytes())
}

// readsTexts reports whether one of the columns has variable length.
func (s *Side) readsTexts() bool {
	_, in := s.All.Input()
	return slices.ContainsFunc(s.Columns, func(j int) bool { return in.Relation.Columns[j].Kind == joincore.Varlena })
}

func (s *Side) bytes() sideBytes {
	_, in := s.All.Input()
	rows, narrow := s.All.Rows(), int64(0)
	for _, j := range s.Columns {
		if in.Relation.Columns[j].Width == wideBytes {
			narrow += narrowBytes
		}
	}
	return sideBytes{columns: rows * in.BytesPerRow(s.Columns), narrow: rows * narrow, partitions: rows * PartitionBytes}
}

// Probe joins all co-partitions. Leftover build rows are emitted with their
// co-partition.
func (j *split) Probe(ctx context.Context, probe device.Space, emit func(device.Space) error) (err error) {
	if v, ok := j.e.AllRows(probe); !ok || !sameInput(v, j.probe.All) {
		return fmt.Errorf("out-of-core join of %d build rows with the result of another join: %w", j.build.All.Rows(), joincore.ErrBudget)
	}
	j.probed = true
	before, start := j.e.Main().Cost(), time.Now()
	parts, ring, free, err := j.partition(ctx)
	j.report.Work.Add(j.e.Main().WorkSince(before))
	took := time.Since(start)
	j.report.Time += took
	j.report.AddPhase(joincore.Phase{Name: phasePartition, Actual: took})
	if err != nil {
		return err
	}
	defer func() {
		for _, c := range parts {
			c.close()
		}
		// An upload that is not needed any more must not read memory that has another
		// owner.
		err = errors.Join(err, j.e.SyncUploads())
		if ring != nil {
			ring.Close()
		}
		free()
	}()
	mine := make([]int, len(parts)) // the co-partition of each stage; -1: none was left
	return Stages(ctx, len(parts), 1, func(ctx context.Context, stage int) {
		i := j.shared.copartition(len(parts))
		if mine[stage] = i; i < 0 {
			return
		}
		if ring != nil {
			ring.Use(stage%2, parts[i].build)
			ring.Use(stage%2, parts[i].probe[0])
		}
		parts[i].build.Fetch(ctx, j.build.Columns)
		parts[i].probe[0].Fetch(ctx, j.probe.Columns)
	}, func(stage int) error {
		i := mine[stage]
		if i < 0 {
			return nil
		}
		defer parts[i].close()
		return j.one(ctx, parts[i], emit)
	})
}

// partition partitions both sides. If memory is short, cores partition row ids, but not for
// several devices.
func (j *split) partition(ctx context.Context) (parts []copartition, ring Ring, free func(), err error) {
	if j.e.Device().By != RowNumbersOnly {
		parts, ring, free, err = j.byDevice(ctx)
		if !errors.Is(err, joincore.ErrBudget) {
			return parts, ring, free, err
		}
	}
	if j.shared.members > 1 {
		return nil, nil, nil, fmt.Errorf("partitioned row ids on several devices: %w", joincore.ErrBudget)
	}
	parts, free, err = j.byHost(ctx)
	return parts, nil, free, err
}

func sameInput(a, b View) bool {
	m, _ := a.Input()
	n, _ := b.Input()
	return m == n
}

// one joins a co-partition.
func (j *split) one(ctx context.Context, c copartition, emit func(device.Space) error) error {
	build, err := c.build.Space(ctx)
	if err != nil {
		return err
	}
	join, err := j.e.PrepareByID(ctx, j.spec, build, "its build side exceeds the device's memory")
	if err != nil {
		return err
	}
	defer join.Release()
	for i, v := range c.probe {
		probe, err := v.Space(ctx)
		if err != nil {
			return err
		}
		if err := join.Probe(ctx, probe, emit); err != nil {
			return err
		}
		if i > 0 { // the first one's memory is that of the build side, too
			v.Close()
		}
	}
	if j.spec.Leftover {
		err = join.Leftover(ctx, emit)
	}
	j.built += c.build.Rows()
	j.report.Add(join.Report())
	return err
}

// Leftover has nothing more to return, where an input has probed. Where a
// result has turned out to be empty nothing has, and all rows are left over.
func (j *split) Leftover(context.Context, func(device.Space) error) error {
	if !j.probed {
		return fmt.Errorf("out-of-core join of %d build rows with an empty probe side: %w", j.build.All.Rows(), joincore.ErrBudget)
	}
	return nil
}

// Report returns the statistics of the join so far.
func (j *split) Report() joincore.JoinStats {
	r := j.report
	r.BuildRows, r.Bits = j.build.All.Rows(), r.Bits+j.bits
	if j.shared.members > 1 {
		r.BuildRows = j.built
	}
	return r
}

// Release does nothing: there is nothing to free.
func (j *split) Release() {}

// copartition is a pair of partitions that are joined at a time. A probe
// partition that is much larger than the others is split into several views.
type copartition struct {
	build View
	probe []View
}

func (c copartition) close() {
	for _, v := range append(c.probe, c.build) {
		v.Close()
	}
}

// byDevice partitions both sides on the devices.
func (j *split) byDevice(ctx context.Context) (parts []copartition, ring Ring, free func(), err error) {
	var sides []*division
	for _, s := range []Side{j.build, j.probe} {
		number, in := s.All.Input()
		for _, column := range s.Columns {
			if !in.Relation.Columns[column].Movable() {
				return nil, nil, nil, fmt.Errorf("input %d, column %d does not move: %w", number, column, joincore.ErrBudget)
			}
		}
		sides = append(sides, newDivision(j.e, s, j.bits))
	}
	t, stay := j.shared, resident{}
	leave := func() {
		t.leave()
		if t.members == 1 { // otherwise others may read it until they leave, too
			stay.release()
		}
	}
	defer func() {
		if err != nil {
			leave()
		}
	}()
	rows := int64(0)
	if j.bits, rows, err = t.agree(ctx, j.bits, windowRows(j.e, j.stays, sides...)); err != nil {
		return nil, nil, nil, err
	}
	sides[0].bits, sides[1].bits = j.bits, j.bits
	stay = j.mayStay()
	if err := divide(ctx, j.e, t, &stay, rows, sides...); err != nil {
		return nil, nil, nil, err
	}
	if err := t.meet(ctx, partitioned); err != nil {
		return nil, nil, nil, err
	}
	most, joined := int64(0), int64(0)
	for p := range 1 << j.bits {
		build := &partitionView{division: sides[0], partition: p, high: len(sides[0].windows)}
		views := viewsOf(sides[1], p, max(2*j.probe.All.Rows()>>j.bits, 1))
		c := copartition{build: viewOf(build)}
		for _, v := range views {
			c.probe = append(c.probe, viewOf(v))
		}
		parts = append(parts, c)
		scratch := build.scratchBytes() + views[0].scratchBytes()
		most = max(most, c.build.Bytes(j.build.Columns)+c.probe[0].Bytes(j.probe.Columns)+scratch)
		joined = max(joined, PartitionBytes*(c.build.Rows()+c.probe[0].Rows()))
	}
	if overflows(j.e.Main().Arena().Free(), most, joined) {
		if err := stay.evict(ctx, j.e); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := t.meet(ctx, settled); err != nil {
		return nil, nil, nil, err
	}
	ring, err = j.e.NewRing(most)
	if errors.Is(err, joincore.ErrBudget) { // one partition is much larger than the others: views are sized individually
		return parts, nil, leave, nil
	}
	return parts, ring, leave, err
}

// viewsOf returns a partition as at least one view. Views have at most the
// given number of rows unless a single window has more.
func viewsOf(d *division, partition int, most int64) (views []*partitionView) {
	low, rows := 0, int64(0)
	for high := range d.windows {
		n := d.windows[high].count[partition]
		if high > low && rows+n > most {
			views = append(views, &partitionView{division: d, partition: partition, low: low, high: high})
			low, rows = high, 0
		}
		rows += n
	}
	return append(views, &partitionView{division: d, partition: partition, low: low, high: len(d.windows)})
}

// byHost partitions row ids on the host.
func (j *split) byHost(context.Context) (parts []copartition, free func(), err error) {
	builds, freeBuild, err := partitionIDs(j.e, j.build, j.bits)
	if err != nil {
		return nil, nil, err
	}
	probes, freeProbe, err := partitionIDs(j.e, j.probe, j.bits)
	if err != nil {
		freeBuild()
		return nil, nil, err
	}
	for i := range builds {
		parts = append(parts, copartition{builds[i], probes[i : i+1 : i+1]})
	}
	return parts, func() { freeProbe(); freeBuild() }, nil
}

// partitionIDs partitions the row ids of a side. The lists are in memory of the
// job; the caller must call free.
func partitionIDs(e Resources, s Side, radix int) (parts []View, free func(), err error) {
	number, in := s.All.Input()
	mem, err := e.Memory().Alloc(4 * max(s.All.Rows(), 1))
	if err != nil {
		return nil, nil, err
	}
	free = func() { e.Memory().Free(mem) }
	lists, err := partition(in, s.Key, radix, unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(mem))), s.All.Rows()))
	if err != nil {
		free()
		return nil, nil, err
	}
	for _, ids := range lists {
		parts = append(parts, e.View(number, &list{in, ids}))
	}
	return parts, free, nil
}
