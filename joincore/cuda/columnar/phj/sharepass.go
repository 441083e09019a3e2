//go:build cuda

package phj

import (
	"context"
	"slices"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/launch"
)

// tableWords is the size of the tables of all flows, and of those for histograms, in words
// of 4 bytes.
func (x *Share) tableWords() int {
	return x.Flows()*(6+2*x.cut.Devices)*x.Partitions() + 2*(x.Partitions()+2*x.cut.Devices)
}

// takeTables takes the tables that follow from the assignment.
func (x *Share) takeTables() {
	r, flows := x.run, int64(x.Flows())
	x.tables.joins, x.tables.sends = r.Take(flows*joinBytes), r.Take(flows*sendBytes)
	x.tables.words = r.Take(4 * int64(x.tableWords()))
}

// words are tables that are copied to the device together.
type words struct {
	at   uint64
	list []uint32
}

// put appends a table and returns its address.
func (w *words) put(list []uint32) uint64 {
	at := w.at + uint64(4*len(w.list))
	w.list = append(w.list, list...)
	return at
}

// Assign brings the tables of the assignment to the device, and prepares the passes over
// what it will receive. all are the shares of all devices, of which self is this one; to
// are the receivers by side, partition and sender.
func (x *Share) Assign(all []*Share, self int, to [2][][]uint64, sendings []Sending, arrivals []Arrival) {
	r, w := x.run, &words{at: x.tables.words, list: make([]uint32, 0, x.tableWords())}
	for side := range x.tables.from {
		var counts []uint32
		from := make([]uint32, x.Partitions())
		for g, other := range all {
			counts = append(counts, uint32(other.local[side]), uint32(other.local[side]>>32))
			for p := range from {
				from[p] |= uint32(to[side][p][g]>>self&1) << g
			}
		}
		x.tables.count[side], x.tables.from[side] = w.put(counts), w.put(from)
	}
	sends, joins := make([]sendDescriptor, x.Flows()), make([]joinDescriptor, x.Flows())
	for flow := range sends {
		sends[flow], joins[flow] = x.describeFlow(w, flow, all, sendings[flow], arrivals[flow])
	}
	launch.PutAt(r.Job, x.tables.words, &w.list[0], w.list[1:])
	launch.PutAt(r.Job, x.tables.sends, &sends[0], sends[1:])
	launch.PutAt(r.Job, x.tables.joins, &joins[0], joins[1:])
	r.copyIn()
	r.Do(func() error { return x.stream.Then(x.sender.stream) })
}

// describeFlow describes how a flow is sent, and how the second pass reads it.
func (x *Share) describeFlow(w *words, flow int, all []*Share, s Sending, a Arrival) (sendDescriptor, joinDescriptor) {
	side := sideOf(flow)
	d := sendDescriptor{Members: uint64(len(all))}
	for g, other := range all {
		in := &other.run.d.Side[side]
		d.Base[g], d.Capacity[g] = in.First, in.FirstCapacity
	}
	d.To, d.Full = w.put(s.To), w.put(s.Full)
	d.Cursor, d.Tail = w.put(make([]uint32, len(s.To))), w.put(s.Rows)
	d.Front = w.put(slices.Concat(s.Front...))
	d.Rest = w.put(slices.Concat(s.Rest...))
	second := x.run.d
	second.Side[side].ParentStart, second.Side[side].ParentCount = w.put(a.Start), w.put(a.Rows)
	return d, second
}

// Prepare merges the histograms of what this device receives, and finds the places of its
// partitions.
func (x *Share) Prepare() {
	r, k := x.run, x.sender.merge
	for side := range x.tables.from {
		r.Launch(k, k.Grid(int64(1)<<r.bits/int64(k.Rows)+1), x.tables.count[side], x.tables.from[side], r.d.BitsFirst, r.d.BitsSecond, x.merged[side])
	}
	r.launch(r.kernels.offsets, r.kernels.offsets.Rows)
	r.phase(columnar.PhaseOffsets)
}

// Send sends a flow, on a stream of its own, with at most the given number of blocks; 0:
// as many as the device holds.
func (x *Share) Send(flow, blocks int) {
	k, side := x.sends[sideOf(flow)], sideOf(flow)
	rows := x.rowsOf(flow)
	x.run.Report.Launches++
	x.run.Do(func() error {
		return k.Launch(x.sender.stream, limited(k.Grid(rows/int64(k.Rows)+1), blocks), x.source(flow), uint64(side), x.tables.sends+uint64(flow*sendBytes))
	})
	x.run.Do(func() error { return x.sender.stream.Record(x.sender.sent[flow]) })
}

// rowsOf returns the rows of a flow that this device sends.
func (x *Share) rowsOf(flow int) int64 {
	if flow > 0 {
		_, rows := x.rangeOf(flow - 1)
		return rows
	}
	return x.built
}

// limited bounds a grid; 0: not at all.
func limited(grid, most int) int {
	if most <= 0 {
		return grid
	}
	return min(grid, most)
}

// Await makes the second passes wait until another device has sent a flow.
func (x *Share) Await(other *Share, flow int) {
	x.run.Do(func() error { return x.stream.Wait(other.sender.sent[flow]) })
}

// Second moves the rows that have been received of a flow into their partitions, while
// this device still sends with the given number of blocks.
func (x *Share) Second(flow int, received int64, sending int) {
	r, side := x.run, sideOf(flow)
	k, most := r.kernels.second[side], 0
	if sending > 0 && sending < r.SMs {
		most = r.SMs - sending
	}
	r.Launch(k, limited(k.Grid(received/int64(k.Rows)+int64(x.Partitions())), most), x.tables.joins+uint64(flow*joinBytes), uint64(side))
	r.phase(columnar.PhaseSecondPass[side])
}

// Match joins the partitions.
func (x *Share) Match() { x.run.matchAndClose() }

// Finish waits for the join and returns its result.
func (x *Share) Finish(ctx context.Context) (*columnar.Output, error) {
	r := x.run
	rows, err := r.finish(ctx)
	if err == nil && rows > r.output.rows {
		rows, err = r.again(ctx, rows)
	}
	if err != nil {
		return nil, err
	}
	r.Report.Algorithm = r.name()
	r.Model(r.traffic())
	return r.output.result(rows), nil
}

// Sent returns when each flow was sent, in milliseconds from the begin of Count, after
// Finish.
func (x *Share) Sent() (ms []float64, err error) {
	for flow := range x.Flows() {
		at, err := x.sender.sent[flow].Since(x.sender.start)
		if err != nil {
			return nil, err
		}
		ms = append(ms, at)
	}
	return ms, nil
}
