//go:build cuda

package phj

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
)

// tableWords is the size of the tables of a side's flows, and of that for its histogram,
// in words of 4 bytes.
func (x *Share) tableWords(side int) int {
	return x.flowsOf(side)*(6+2*x.secondPasses()+2*x.cut.Devices)*x.Partitions() + x.Partitions() + 2*x.cut.Devices
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

// Assigned is where the rows of a side go.
type Assigned struct {
	To       [][]uint64  // the receivers, a bit for each, by partition and sender
	Sendings []Sending   // of this device, by flow of the side
	Arrivals [][]Arrival // by flow; one, or unless rows are stored one for each sender
}

// keeps reports whether an ordinary first pass can move the rows of the i-th flow: each
// partition goes to one place, in the buffer of this device, self, and if rows are stored,
// there are no other rows of it. It returns the places of the first row of each partition, and
// of the row after its last one.
func (a *Assigned) keeps(i, self int, way Way) (starts, ends []uint32, ok bool) {
	s := &a.Sendings[i]
	for p, to := range s.To {
		switch {
		case s.Rows[p] == 0:
			starts = append(starts, 0)
		case bits.OnesCount32(to) != 1, way == Store && (to != 1<<self || s.Rows[p] != a.Arrivals[i][0].Rows[p]):
			return nil, nil, false
		default:
			starts = append(starts, s.Front[bits.TrailingZeros32(to)][p])
		}
		ends = append(ends, starts[p]+s.Rows[p])
	}
	return starts, ends, true
}

// AssignBuild brings the tables for the build side to the device. all are the shares of
// all devices, of which self is this one. The device may still be counting.
func (x *Share) AssignBuild(all []*Share, self int, a Assigned) {
	x.put(x.sender.stream, 0, all, self, a)
	x.run.Do(func() error { return x.sender.stream.Then(x.stream) })
}

// AssignProbe does the same for the probe side. The device may still be sending the build
// side, and partitioning it.
func (x *Share) AssignProbe(all []*Share, self int, a Assigned) {
	x.put(x.sender.stream, 1, all, self, a)
	x.run.Do(func() error { return x.sender.stream.Then(x.stream) })
	x.run.copyIn()
}

// keptPass is what an ordinary first pass needs that moves all rows of a flow: the places of
// the partitions' rows, and the values that it packs.
type keptPass struct {
	starts, ends []uint32
	values       []packedField
}

// keptPasses returns the ordinary first passes of a side by flow, empty ones where rows have to
// be sent by another kernel, and notes which flows they move.
func (x *Share) keptPasses(side int, a Assigned) []keptPass {
	list := make([]keptPass, len(a.Sendings))
	first := x.first(side)
	for i := range list {
		starts, ends, ok := a.keeps(i, x.self, x.cut.Way)
		ok = ok && first != nil
		if ok {
			list[i] = keptPass{starts, ends, x.keptValues(side, x.flows[side*x.builds+i].from)}
		}
		x.keeps = append(x.keeps, ok)
	}
	return list
}

// put brings the tables of a side to the device, in one copy.
func (x *Share) put(s *driver.Stream, side int, all []*Share, self int, a Assigned) {
	x.self = self
	flows, kept := len(a.Sendings), x.keptPasses(side, a)
	var values []packedField
	for _, k := range kept {
		values = append(values, k.values...)
	}
	valuesAt := x.tables.keeps[side] + uint64(flows*joinBytes)
	w := &words{at: valuesAt + uint64(len(values)*valueBytes), list: make([]uint32, 0, x.tableWords(side))}
	var counts []uint32
	from := make([]uint32, x.Partitions())
	for g, other := range all {
		at := other.local[side]
		if g != self && x.cut.Way == Stage {
			at = x.countsAt(side, g)
		}
		counts = append(counts, uint32(at), uint32(at>>32))
		for p := range from {
			from[p] |= uint32(a.To[p][g]>>self&1) << g
		}
	}
	x.tables.count[side], x.tables.from[side] = w.put(counts), w.put(from)
	sends, keeps := make([]sendDescriptor, flows), make([]joinDescriptor, flows)
	var joins []joinDescriptor
	for i := range sends {
		flow := side*x.builds + i
		sends[i] = x.describeSend(w, flow, all, self, a.Sendings[i])
		for _, arrival := range a.Arrivals[i] {
			second := x.run.d
			second.Side[side].ParentStart, second.Side[side].ParentCount = w.put(arrival.Start), w.put(arrival.Rows)
			joins = append(joins, second)
		}
		keeps[i] = x.source[flow]
		in := &keeps[i].Side[side]
		in.First, in.FirstCapacity = x.run.d.Side[side].First, x.run.d.Side[side].FirstCapacity
		in.ParentCursor, in.ParentTail = w.put(kept[i].starts), w.put(kept[i].ends)
		in.Packed, in.PackedCount = valuesAt, uint64(len(kept[i].values))
		valuesAt += in.PackedCount * valueBytes
	}
	x.run.PutOn(s, x.tables.side[side], columnar.BytesOf(sends), columnar.BytesOf(joins), columnar.BytesOf(keeps), columnar.BytesOf(values), columnar.BytesOf(w.list))
}

// sendAt returns the address of a flow's gj_send, joinAt and keepAt those of the descriptors
// of its second passes and of a first pass that keeps all rows.
func (x *Share) sendAt(flow int) uint64 { return x.tableAt(&x.tables.sends, flow, sendBytes) }
func (x *Share) joinAt(flow, pass int) uint64 {
	return x.tableAt(&x.tables.joins, flow, joinBytes*x.secondPasses()) + uint64(pass*joinBytes)
}
func (x *Share) keepAt(flow int) uint64 { return x.tableAt(&x.tables.keeps, flow, joinBytes) }

// tableAt returns the address of a flow's entry in a list by flow of its side.
func (x *Share) tableAt(list *[2]uint64, flow, bytes int) uint64 {
	side := x.flows[flow].side
	return list[side] + uint64((flow-side*x.builds)*bytes)
}

// describeSend describes how this device, self, sends a flow.
func (x *Share) describeSend(w *words, flow int, all []*Share, self int, s Sending) (d sendDescriptor) {
	side := x.flows[flow].side
	d.Members = uint64(len(all))
	for g, other := range all {
		to := other.run
		if x.cut.Way != Store {
			to = x.run
		}
		d.Base[g], d.Lanes[g], d.Capacity[g] = to.d.Side[side].First, to.stripes[side], to.d.Side[side].FirstCapacity
	}
	d.FirstRow = uint64(x.cut.Before[side] + x.flows[flow].from)
	d.To, d.Full = w.put(s.To), w.put(s.Full)
	d.Cursor, d.Tail = w.put(make([]uint32, len(s.To))), w.put(s.Rows)
	d.Front = w.put(slices.Concat(s.Front...))
	d.Rest = w.put(slices.Concat(s.Rest...))
	return d
}

// Send sends a flow, on a stream of its own, with at most the given number of blocks; 0:
// as many as the device holds.
func (x *Share) Send(flow, blocks int) {
	f, stream := &x.flows[flow], x.sender.stream
	k := x.sends[f.side]
	if x.keeps[flow] {
		k = x.first(f.side)
	}
	grid := limited(k.Grid(f.rows/int64(k.Rows)+1), blocks)
	x.run.Report.Launches++
	x.run.Do(func() error {
		if x.keeps[flow] {
			return k.Launch(stream, grid, x.keepAt(flow), uint64(f.side))
		}
		return k.Launch(stream, grid, x.sourceAt(flow), uint64(f.side), x.sendAt(flow))
	})
	ended := x.sender.sent[flow]
	if x.cut.Way == Copy {
		ended = x.sender.passed[flow]
	}
	x.run.Do(func() error { return stream.Record(ended) })
}

// limited bounds a grid; 0: not at all.
func limited(grid, most int) int {
	if most <= 0 {
		return grid
	}
	return min(grid, most)
}

// Prepare merges the histograms of what this device receives of a side, and finds the
// places of its partitions. The build side, which comes first, may be prepared before the
// probe side is counted.
func (x *Share) Prepare(side int) {
	r, k := x.run, x.sender.merge
	r.Launch(k, k.Grid(int64(1)<<r.bits/int64(k.Rows)+1), x.tables.count[side], x.tables.from[side], r.d.BitsFirst, r.d.BitsSecond, x.merged[side])
	offsets := r.kernels.offsets
	if side == 0 {
		r.Launch(offsets, offsets.Fan, x.joinAt(0, 0), 0)
	} else {
		r.launch(offsets, offsets.Rows-offsets.Fan, uint64(offsets.Fan))
	}
	if side == 1 && x.cut.Way == Store {
		r.Do(func() error { return x.stream.Then(x.sender.stream) })
	}
	if x.cut.Way == Copy {
		r.Do(func() error { return x.stream.Then(x.sender.own) })
	}
	r.phase(columnar.PhaseOffsets)
}

// Await makes later second passes over a flow wait until a device has sent it.
func (x *Share) Await(other *Share, flow int) {
	stream, sent := x.stream, other.sender.sent[flow]
	switch {
	case x.last(flow):
		stream = x.sender.stream
	case other == x && x.cut.Way == Copy: // what it keeps is there before others have the rest
		stream, sent = x.passes(flow, x.self), x.sender.passed[flow]
	}
	x.run.Do(func() error { return stream.Wait(sent) })
}

// AwaitAll makes all later second passes wait until every device has sent all of its flows.
func (x *Share) AwaitAll(all []*Share) {
	for _, stream := range []*driver.Stream{x.stream, x.sender.stream, x.sender.own} {
		for _, other := range all {
			for flow := range x.flows {
				x.run.Do(func() error { return stream.Wait(other.sender.sent[flow]) })
			}
		}
	}
}

// last reports whether a flow is the last one of all that other devices' first passes store
// here.
func (x *Share) last(flow int) bool { return flow == len(x.flows)-1 && x.cut.Way == Store }

// passes returns the stream of a second pass over a flow. The last flow has that which has
// sent it: its multiprocessors have nothing more to send, while others may still partition
// the flow before. If rows are copied, those that stay have a stream of their own: so blocks
// of one pass begin while the last ones of another one end.
func (x *Share) passes(flow, pass int) *driver.Stream {
	switch {
	case x.last(flow):
		return x.sender.stream
	case x.cut.Way == Copy && pass == x.self:
		return x.sender.own
	}
	return x.stream
}

// Passes share a device best if none of their blocks takes long. But a block costs something,
// too.
const (
	// mostRounds is the most times that a second pass has as many blocks as a device holds: as
	// many as the last one has, whose first blocks begin before the pass before has ended.
	mostRounds = 3
	// tilesOfBlock is how many tiles a block moves, at least, of a second pass over copied rows.
	tilesOfBlock = 8
)

// Second moves rows that have been received of a flow into their partitions: all of them, in
// pass 0, or unless rows are stored, those of the sender with the number of the pass. Meanwhile
// this device still sends with the given number of blocks.
func (x *Share) Second(flow, pass int, rows int64, sending int) {
	r, side := x.run, x.flows[flow].side
	k, most := r.kernels.second[side], 0
	if sending > 0 && sending < r.SMs {
		most = r.SMs - sending
	}
	items := rows/int64(k.Rows) + int64(x.Partitions())
	grid, rounds := limited(k.Grid(items), most), int64(mostRounds*k.Grid(math.MaxInt64))
	switch {
	case x.last(flow):
		grid = int(min(items, rounds))
	case x.cut.Way == Copy:
		grid = max(grid, int(min(items/tilesOfBlock, rounds)))
	}
	r.Report.Launches++
	r.Do(func() error { return k.Launch(x.passes(flow, pass), grid, x.joinAt(flow, pass), uint64(side)) })
	if x.last(flow) {
		r.Do(func() error { return x.sender.stream.Then(x.stream) })
	}
	r.phase(columnar.PhaseSecondPass[side])
}

// Match joins the partitions. What Finish waits for is queued, too: it would be late on a device
// whose share is finished after others.
func (x *Share) Match() {
	if x.cut.Way == Copy {
		x.run.Do(func() error { return x.sender.own.Then(x.stream) })
		x.run.Do(func() error { return x.sender.copier.Then(x.stream) }) // the result replaces blocks
	}
	x.run.matchAndClose()
	x.run.QueueRead(x.run.d.Counters, counters)
}

// Finish waits for the join and returns its result. ErrBypass: it is larger than TakeBypass
// was told.
func (x *Share) Finish(ctx context.Context) (*columnar.Output, error) {
	if x.run.bypass == nil {
		return x.run.result(ctx)
	}
	rows, err := x.run.finish(ctx)
	if err == nil && rows > x.run.output.rows {
		err = ErrBypass
	}
	if err != nil {
		return nil, err
	}
	return x.run.ended(rows), nil
}

// Sent returns when each flow was sent, in milliseconds from the begin of Count, after
// Finish.
func (x *Share) Sent() (ms []float64, err error) {
	for flow := range x.flows {
		at, err := x.sender.sent[flow].Since(x.sender.start)
		if err != nil {
			return nil, err
		}
		ms = append(ms, at)
	}
	return ms, nil
}
