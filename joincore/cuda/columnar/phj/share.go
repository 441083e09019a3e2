//go:build cuda

package phj

import (
	"context"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/launch"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// Cut describes a join that several devices execute together, each with a Share.
type Cut struct {
	Rows       [2]int64 // of the sides, on all devices
	OutputRows int64    // expected, of all devices
	Devices    int
	Ranges     int // of the probe side, at most MaxRanges
}

// Share is one device's share of a join that is cut in two: a first pass that sends rows
// to the devices that join them, and the rest of a partitioned hash join over the rows
// that this device has received. Its methods queue work, in the order in which they are
// declared; those that wait say so.
type Share struct {
	run    *run
	cut    Cut
	sender *Sender
	stream *driver.Stream
	sends  [2]*driver.Kernel
	built  int64   // rows of the build side that this device sends
	ends   []int64 // of the ranges of the probe side

	sources uint64    // descriptors of what is sent: with the probe side's ranges
	parents uint64    // rows by flow and partition
	merged  [2]uint64 // histograms of what is received
	local   [2]uint64 // of what is sent
	tables  joint
}

// joint are the addresses of the tables that follow from the assignment.
type joint struct {
	joins uint64 // by flow: the descriptor of the second pass
	sends uint64 // by flow: gj_send
	words uint64 // their tables
	from  [2]uint64
	count [2]uint64
}

// Together calls f with this device's share of a join, whose sides j has a part of. Errors
// are those of columnar.Func, and joincore.ErrUnsupported if payload cannot be carried
// through both passes, or only row ids are wanted. After an error of f no stream that
// works for the join may be busy.
func Together(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join, x *Sender, c Cut,
	f func(*Share) (*columnar.Output, error)) (*columnar.Output, *columnar.Report, error) {
	return launch.Run(ctx, d, s, a, j, "phj", func(ctx context.Context, b *launch.Job) (*columnar.Output, error) {
		st, err := states.Get(d)
		if err != nil {
			return nil, err
		}
		r := &run{Job: b, state: st, options: Options{Materialise: "om", Bloom: bloomOff}}
		own := *j
		b.Join, b.Sides = &own, [2]*columnar.Side{&own.Build, &own.Probe}
		b.ReadBack = columnar.PhaseReadBack
		share := &Share{run: r, cut: c, sender: x, stream: s}
		if err := share.plan(); err != nil {
			return nil, err
		}
		return f(share)
	})
}

// plan chooses the kernels and bits, which are the same on all devices, and takes what
// does not depend on the assignment.
func (x *Share) plan() error {
	r := x.run
	if x.cut.Devices < 1 || x.cut.Devices > MaxDevices {
		return fmt.Errorf("phj: a join over %d devices: %w", x.cut.Devices, joincore.ErrUnsupported)
	}
	if r.Join.RowIDs {
		return fmt.Errorf("phj: row ids of several devices: %w", joincore.ErrUnsupported)
	}
	r.keyWords = r.Join.Build.Key.Bytes / 4
	for i, s := range r.Sides {
		r.widths[i] = launch.Widths(s.Payload)
	}
	r.modes = r.options.modes()
	// The plan is that of a device with an even part of the rows.
	own := [2]int64{r.Join.Build.Rows, r.Join.Probe.Rows}
	n := int64(x.cut.Devices)
	r.Join.Build.Rows, r.Join.Probe.Rows = (x.cut.Rows[0]+n-1)/n, (x.cut.Rows[1]+n-1)/n
	r.Join.OutputRows = (x.cut.OutputRows + n - 1) / n
	if err := r.plan(); err != nil {
		return err
	}
	r.Join.Build.Rows, r.Join.Probe.Rows = own[0], own[1]
	for i, s := range r.shapes {
		if r.modes[i] != carry || s.form == byID || s.form == packed {
			return fmt.Errorf("phj: payload of %d bytes cannot be sent: %w", packedBytes(r.widths[i]), joincore.ErrUnsupported)
		}
		var err error
		if x.sends[i], err = r.state.forms.Kernel(fmt.Sprintf("gj_send_k%d_%s", r.keyWords, s)); err != nil {
			return err
		}
	}
	_, mostSecond := r.fans()
	mostFirst := log2(min(x.sends[0].Fan&0xffff, x.sends[1].Fan&0xffff))
	first, second := jointBits(x.cut.Rows[0], r.kernels.match.Rows, mostFirst, mostSecond, x.cut.Devices)
	r.bits = first + second
	if err := r.takeTables(); err != nil {
		return err
	}
	r.d.BitsFirst, r.d.BitsSecond = uint64(first), uint64(second)
	r.d.ChunkRows, r.d.RangeRows = uint64(r.kernels.match.Rows), 8*uint64(r.kernels.match.Rows)
	x.built, x.ends = own[0], Ranges(own[1], min(max(x.cut.Ranges, 1), MaxRanges))
	for len(x.ends) < x.cut.Ranges { // all devices have the same flows
		x.ends = append(x.ends, own[1])
	}
	x.sources = r.Take(int64(len(x.ends)) * (joinBytes + 2*maxFieldWords*fieldBytes))
	x.parents = r.Take(int64(x.Flows()) * mostParents * 4)
	for i := range x.merged {
		x.local[i], x.merged[i] = r.d.Side[i].Count, r.Take(4<<r.bits)
	}
	return r.Err()
}

// Flows returns the number of flows: the build side, and each range of the probe side.
func (x *Share) Flows() int { return 1 + len(x.ends) }

// sideOf returns the side of a flow.
func sideOf(flow int) int { return min(flow, 1) }

// Partitions returns the number of partitions of the first pass.
func (x *Share) Partitions() int { return 1 << x.run.d.BitsFirst }

// Unit returns the rows of a unit of a flow's first pass.
func (x *Share) Unit(flow int) int64 { return int64(x.sends[sideOf(flow)].Fan >> 16) }

// RowBytes returns the bytes of a side's row between the passes.
func (x *Share) RowBytes(side int) int64 {
	return int64(4 * (x.run.keyWords + x.run.shapes[side].words))
}

// Layout is what devices have to agree upon to exchange rows: it depends on the kernels'
// tuning for a device.
type Layout struct {
	First, Second uint64 // hash bits of the passes
	Units         [2]int64
	RowBytes      [2]int64
}

// Layout returns the layout of the share's rows.
func (x *Share) Layout() Layout {
	return Layout{x.run.d.BitsFirst, x.run.d.BitsSecond, [2]int64{x.Unit(0), x.Unit(1)}, [2]int64{x.RowBytes(0), x.RowBytes(1)}}
}

// rangeOf returns the first row and the rows of the probe side's i-th range.
func (x *Share) rangeOf(i int) (from, rows int64) {
	if i > 0 {
		from = x.ends[i-1]
	}
	return from, x.ends[i] - from
}

// source returns the descriptor whose source kernel reads a flow.
func (x *Share) source(flow int) uint64 { return x.sources + uint64(max(flow-1, 0)*joinBytes) }

// Take takes the memory for what this device receives: rows of each side, in buffers of
// the given capacity, and a result. ErrBudget where there is too little.
func (x *Share) Take(rows, capacity [2]int64, outputRows int64) error {
	r := x.run
	for i := range rows {
		if rows[i] >= kernels.MaxRows || capacity[i] >= kernels.MaxRows {
			return fmt.Errorf("phj: %d rows are more than one device joins: %w", rows[i], joincore.ErrUnsupported)
		}
		r.Sides[i].Rows = rows[i]
		r.d.Side[i].Rows, r.d.Side[i].Count = uint64(rows[i]), x.merged[i]
	}
	r.Join.OutputRows = outputRows
	x.takeTables()
	for i := range rows {
		r.takeFinal(i, rows[i])
	}
	r.tables.outputFrom = r.Mark()
	for i := range rows {
		s := &r.d.Side[i]
		s.FirstCapacity = roundUp(capacity[i], 64)
		s.First = r.Take(int64(s.FirstCapacity) * x.RowBytes(i))
	}
	if r.Err() != nil {
		return r.Err()
	}
	return r.takeOutput(outputRows)
}
