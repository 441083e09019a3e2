//go:build cuda

package rowid

import (
	"context"
	"encoding/binary"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
)

// match finds all pairs. It launches the match until no block is suspended; before each
// further launch it hands out the region.
func (j *Join) match(ctx context.Context, probe Side, flags uint64, marks driver.Ptr, emit func(Pairs) error) error {
	q := j.q
	since := q.cost
	kernel, err := q.kernels.module.Kernel(j.partners())
	if err != nil {
		return err
	}
	keys, err := q.newKeyed(ctx, probe, j.spec.Match.Probe, j.radix, &j.spec.Options)
	if err != nil {
		return err
	}
	rows, chunk := rangeRows(keys.rows, q.resident(kernel)), int64(kernel.Rows)
	if j.table != 0 {
		chunk = max(j.keys.rows, 1)
	}
	d, err := j.matchPlan(keys, chunk, rows)
	if err != nil {
		return err
	}
	join, err := q.arrange(ctx, &d)
	if err != nil {
		return err
	}
	if err := q.partition(join, probeSide, keys, j.radix); err != nil {
		return err
	}
	blocks := min(workItems(j.keys.rows, keys.rows, j.radix.partitions(), chunk, rows), int64(q.resident(kernel)))
	m := matchDescriptor{Join: uint64(join), Flags: flags, ProbeMarks: uint64(marks), BuildMarks: uint64(j.marks), Table: uint64(j.table)}
	progress, err := q.arena.Take(8 * progressWords)
	if err != nil {
		return err
	}
	m.Progress = uint64(progress)
	condition, err := j.conditions(ctx, &probe, progress+8*progressFailed)
	if err != nil {
		return err
	}
	m.Condition = uint64(condition)
	region, err := j.matchMemory(&m, blocks*int64(kernel.Shared))
	if err != nil {
		return err
	}
	if err := j.newFinished(&m, keys); err != nil {
		return err
	}
	at, err := q.upload(ctx, m)
	if err != nil {
		return err
	}
	q.cost.Bytes += (j.keys.rows + keys.rows) * int64(4*(j.radix.words+1))
	for resume := uint64(0); ; resume = 1 {
		if err := q.write(ctx, driver.Ptr(m.Progress), bytesOf(0, ^uint64(0), 0, 0)); err != nil {
			return err
		}
		if err := q.launch(kernel.Name, blocks, uint64(at), resume); err != nil {
			return err
		}
		progress, err := q.read(ctx, driver.Ptr(m.Progress), progressWords)
		if err != nil {
			return err
		}
		if progress[progressFailed] != 0 {
			return joincore.ErrArithmetic
		}
		region.Rows = int64(min(progress[progressClaimed], progress[progressLimit]))
		q.cost.Bytes += 8 * region.Rows
		j.account(since)
		if region.Rows > 0 {
			if err := emit(region); err != nil {
				return err
			}
		}
		since = q.cost
		if progress[progressSuspended] == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// matchPlan describes the partitions of both sides; the build side's exist already.
func (j *Join) matchPlan(probe *keyed, chunk, rangeRows int64) (partitionDescriptor, error) {
	build := *j.keys
	build.Count = 0
	// Planning writes the start of the build side's partitions again, and the
	// memory that only its passes needed.
	for _, to := range []*uint64{&build.Cursor, &build.Tail} {
		at, err := j.q.arena.Take(int64(4 * max(4, j.radix.partitions())))
		if err != nil {
			return partitionDescriptor{}, err
		}
		*to = uint64(at)
	}
	for _, to := range []*uint64{&build.ParentCount, &build.ParentStart, &build.ParentCursor, &build.ParentTail} {
		*to = build.Cursor
	}
	d := j.radix.descriptor(&build, probe)
	d.ChunkRows, d.RangeRows = uint64(chunk), uint64(rangeRows)
	var err error
	d.Counters, d.Extra, err = j.q.planMemory(j.radix)
	return d, err
}

// matchMemory takes the memory that a match writes: the region, and the saved state of
// blocks.
func (j *Join) matchMemory(m *matchDescriptor, saved int64) (Pairs, error) {
	arena := j.q.arena
	take := func(to *uint64, bytes int64, err error) error {
		if err != nil {
			return err
		}
		at, err := arena.Take(bytes)
		*to = uint64(at)
		return err
	}
	err := take(&m.Saved, saved, nil)
	if m.Flags&emitPairs != 0 && err == nil {
		rows := regionRows(j.spec.Region, arena.Free())
		err = take(&m.Build, 4*rows, err)
		err = take(&m.Probe, 4*rows, err)
		m.Capacity = uint64(rows)
	}
	return Pairs{Build: driver.Ptr(m.Build), Probe: driver.Ptr(m.Probe)}, err
}

// newFinished takes one bit for each partitioned row of the side whose ranges or chunks
// may be finished before all work items are.
func (j *Join) newFinished(m *matchDescriptor, probe *keyed) error {
	var rows uint64
	switch {
	case j.table != 0:
		return nil
	case m.Flags&firstOnly != 0:
		rows = probe.FinalCapacity
	case m.Flags == markBuild:
		rows = j.keys.FinalCapacity
	default:
		return nil
	}
	at, err := j.q.newMarks(int64(rows))
	m.Finished = uint64(at)
	return err
}

// bytesOf returns numbers in the device's representation.
func bytesOf(words ...uint64) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}
