//go:build cuda

package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// copartition is a pair of partitions that are joined at a time. A probe
// partition that is much larger than the others is split into several views.
type copartition struct {
	build *view
	probe []*view
}

func (c copartition) close() {
	for _, v := range append(c.probe, c.build) {
		v.close()
	}
}

// splitSide is a side that is partitioned.
type splitSide struct {
	all      *view
	key      *device.Key
	columns  []int // columns that are uploaded
	numbered bool  // row ids are uploaded, too, to fetch further columns
}

func (j *split) sideOf(v *view, key *device.Key, keep device.Keep) splitSide {
	of := func(ref joincore.ColumnRef) bool { return ref.Input == v.number }
	return splitSide{
		all: v, key: key, columns: j.e.columnsRead(v.number, key, j.spec.Residual, keep),
		numbered: slices.Contains(keep.Inputs, v.number) || slices.ContainsFunc(keep.Late, of) ||
			slices.ContainsFunc(keep.Columns, func(ref joincore.ColumnRef) bool { return of(ref) && !movable(j.e.describe(ref)) }),
	}
}

// byDevice partitions both sides on the device.
func (j *split) byDevice(ctx context.Context, build, probe splitSide) (parts []copartition, free func(), err error) {
	e := j.e
	var sides []*division
	for _, s := range []splitSide{build, probe} {
		for _, column := range s.columns {
			if !movable(s.all.input.relation.Columns[column]) {
				return nil, nil, fmt.Errorf("input %d, column %d does not move: %w", s.all.number, column, joincore.ErrBudget)
			}
		}
		sides = append(sides, e.newDivision(s.all.number, s.key, s.columns, s.numbered, j.bits))
	}
	if err := e.divide(ctx, sides...); err != nil {
		return nil, nil, err
	}
	release := func() { sides[0].free(); sides[1].free() }
	most := int64(0)
	for p := range 1 << j.bits {
		c := copartition{
			build: e.viewOf(&partitionView{division: sides[0], partition: p, high: len(sides[0].windows)}),
			probe: e.viewsOf(sides[1], p, max(2*probe.all.rows>>j.bits, 1)),
		}
		parts = append(parts, c)
		most = max(most, c.build.bytes(build.columns)+c.probe[0].bytes(probe.columns))
	}
	ring, err := e.newRing(most)
	if errors.Is(err, joincore.ErrBudget) { // one partition is much larger than the others: views are sized individually
		return parts, release, nil
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	for i, c := range parts {
		c.build.half, c.probe[0].half = &ring.halves[i%2], &ring.halves[i%2]
	}
	return parts, func() { ring.close(); release() }, nil
}

// viewsOf returns a partition as at least one view. Views have at most the
// given number of rows unless a single window has more.
func (e *execution) viewsOf(d *division, partition int, most int64) (views []*view) {
	low, rows := 0, int64(0)
	for high := range d.windows {
		n := d.windows[high].count[partition]
		if high > low && rows+n > most {
			views = append(views, e.viewOf(&partitionView{division: d, partition: partition, low: low, high: high}))
			low, rows = high, 0
		}
		rows += n
	}
	return append(views, e.viewOf(&partitionView{division: d, partition: partition, low: low, high: len(d.windows)}))
}

// byHost partitions row ids on the host.
func (j *split) byHost(_ context.Context, build, probe splitSide) (parts []copartition, free func(), err error) {
	builds, freeBuild, err := j.e.partition(build.all, build.key, j.bits)
	if err != nil {
		return nil, nil, err
	}
	probes, freeProbe, err := j.e.partition(probe.all, probe.key, j.bits)
	if err != nil {
		freeBuild()
		return nil, nil, err
	}
	for i := range builds {
		parts = append(parts, copartition{builds[i], probes[i : i+1 : i+1]})
	}
	return parts, func() { freeProbe(); freeBuild() }, nil
}

// partition partitions the row ids of an input. The lists are in memory of the
// job; the caller must call free.
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
