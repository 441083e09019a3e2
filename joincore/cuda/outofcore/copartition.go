//go:build cuda

package outofcore

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/rowid"
)

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
			if !rowid.Movable(in.Relation.Columns[column]) {
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
