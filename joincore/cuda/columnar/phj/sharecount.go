//go:build cuda

package phj

import (
	"context"
	"fmt"
	"runtime"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/launch"
	"gpujoin/joincore/cuda/driver"
)

// Count counts all rows by partition.
func (x *Share) Count() {
	r := x.run
	list, fields := x.describeSources()
	launch.PutAt(r.Job, x.sources, &list[0], list[1:])
	if len(fields) > 0 {
		launch.PutAt(r.Job, x.fieldsAt(), &fields[0], fields[1:])
	}
	r.clear()
	r.Do(func() error { return x.stream.Record(x.sender.start) })
	k, build := r.kernels.histogram, r.Sides[0].Rows
	for i := range x.ends {
		_, rows := x.rangeOf(i)
		sides := uint64(countProbe)
		if i == 0 {
			sides, rows = countBuild|countProbe, rows+build
		}
		r.LaunchShared(k, max(2, k.Grid(rows/8192)), r.counterBytes(), x.source(i+1), sides)
		if i == 0 {
			x.fold(0)
		}
		x.fold(i + 1)
		if i == 0 {
			x.readCounts(0, 2, x.sender.first)
		}
	}
	x.readCounts(2, x.Flows(), x.sender.counted)
	r.phase(columnar.PhaseHistogram)
}

// readCounts queues the read-back of flows from to to - 1, and an event behind it.
func (x *Share) readCounts(from, to int, read *driver.Event) {
	each := 4 * x.Partitions()
	host := x.sender.host.Bytes()[from*each : to*each]
	x.run.Do(func() error { return x.stream.CopyOut(host, driver.Ptr(x.parents+uint64(from*each))) })
	x.run.Do(func() error { return x.stream.Record(read) })
}

// fold sums up the histogram of a flow's side by partition of the first pass.
func (x *Share) fold(flow int) {
	k, d := x.sender.fold, &x.run.d
	to := x.parents + uint64(4*flow*x.Partitions())
	x.run.Launch(k, x.Partitions()/k.Rows+1, x.local[sideOf(flow)], d.BitsFirst, d.BitsSecond, to)
}

// describeSources describes the columns that are sent, once for each range.
func (x *Share) describeSources() (list []joinDescriptor, fields []field) {
	r := x.run
	for i := range x.ends {
		d := r.d
		from, rows := x.rangeOf(i)
		for side, in := range r.Sides {
			at := int64(0)
			s := &d.Side[side]
			if side == 1 {
				at = from
				s.Rows = uint64(rows)
			}
			s.Key = uint64(in.Key.Addr) + uint64(at*int64(in.Key.Bytes))
			s.Fields = x.fieldsAt() + uint64(len(fields)*fieldBytes)
			for c, column := range in.Payload {
				values, width := uint64(column.Addr)+uint64(at*int64(column.Bytes)), uint64(column.Bytes)
				if r.shapes[side].form == columns {
					s.Column[c] = values
					continue
				}
				for q := uint64(0); q < width; q += 4 {
					fields = append(fields, field{From: values + q, FromStride: width, Bytes: min(width, 4)})
					s.FieldCount++
				}
			}
		}
		list = append(list, d)
	}
	return list, fields
}

// fieldsAt is where the sources' fields begin.
func (x *Share) fieldsAt() uint64 { return x.sources + uint64(len(x.ends)*joinBytes) }

// FirstCounts waits until the build side and the first range of the probe side are counted,
// and returns their rows by partition. Other ranges are still being counted.
func (x *Share) FirstCounts(ctx context.Context) (build, probe []int64, err error) {
	if err := x.counted(ctx, x.sender.first); err != nil {
		return nil, nil, err
	}
	return x.countsOf(0), x.countsOf(1), nil
}

// Counts waits for all counts and returns them by flow and partition.
func (x *Share) Counts(ctx context.Context) ([][]int64, error) {
	if err := x.counted(ctx, x.sender.counted); err != nil {
		return nil, err
	}
	counts := make([][]int64, x.Flows())
	for flow := range counts {
		counts[flow] = x.countsOf(flow)
	}
	// A histogram goes on where that of the range before has ended.
	for flow := len(counts) - 1; flow > 1; flow-- {
		for p := range counts[flow] {
			counts[flow][p] -= counts[flow-1][p]
		}
	}
	var rows [2]int64
	for flow, list := range counts {
		for _, n := range list {
			if n < 0 {
				return nil, fmt.Errorf("phj: %d rows counted", n)
			}
			rows[sideOf(flow)] += n
		}
	}
	if want := [2]int64{x.run.Sides[0].Rows, x.run.Sides[1].Rows}; rows != want {
		return nil, fmt.Errorf("phj: %d rows counted of %d", rows, want)
	}
	return counts, nil
}

// counted waits for counts. The stream reaches them soon, so it does not leave the
// processor.
func (x *Share) counted(ctx context.Context, read *driver.Event) error {
	if err := x.run.Err(); err != nil {
		return err
	}
	x.run.Report.Syncs++
	for {
		done, err := read.Done()
		if err == nil && !done {
			err = ctx.Err()
		}
		if done || err != nil {
			return err
		}
		runtime.Gosched()
	}
}

// countsOf returns the counts of a flow as they were read.
func (x *Share) countsOf(flow int) []int64 {
	list, words := make([]int64, x.Partitions()), x.sender.host.Words()
	for p := range list {
		i := flow*len(list) + p
		list[p] = int64(uint32(words[i/2] >> (32 * (i % 2))))
	}
	return list
}
