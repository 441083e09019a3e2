//go:build cuda

package phj

import (
	"context"

	"gpujoin/joincore/cuda/driver"
)

// Piece is bytes to copy from one device's memory to that of another one.
type Piece struct {
	From, To driver.Ptr
	Bytes    int64
}

// secondPasses is the number of second passes of a flow.
func (x *Share) secondPasses() int {
	if x.cut.Way != Store {
		return x.cut.Devices
	}
	return 1
}

// Blocks returns the copies that bring a block of a flow to the device whose share is other.
func (x *Share) Blocks(flow int, other *Share, b Block) (list []Piece) {
	if b.Rows == 0 {
		return nil
	}
	side := x.flows[flow].side
	type lanes struct{ at, capacity uint64 }
	add := func(from, to lanes, sizes []int64) {
		before := int64(0) // bytes of a row
		for _, bytes := range sizes {
			place := func(l lanes, row int64) driver.Ptr {
				return driver.Ptr(l.at) + driver.Ptr(int64(l.capacity)*before+row*bytes)
			}
			list = append(list, Piece{From: place(from, b.From), To: place(to, b.At), Bytes: b.Rows * bytes})
			before += bytes
		}
	}
	buffer := func(r *run) lanes { return lanes{r.d.Side[side].First, r.d.Side[side].FirstCapacity} }
	add(buffer(x.run), buffer(other.run), laneSizes(int(x.bufferBytes(side)/4)))
	if x.run.modes[side] == pack {
		packed := func(r *run) lanes { return lanes{r.lanes[side], r.laneRows[side]} }
		add(packed(x.run), packed(other.run), packedLaneSizes(4*x.run.shapes[side].words))
	}
	return list
}

// Copy queues copies of a flow's blocks to other devices, when its first pass has ended.
func (x *Share) Copy(flow int, pieces []Piece) {
	s := x.sender
	spans := make([]driver.Span, len(pieces))
	for i, p := range pieces {
		spans[i] = driver.Span{To: p.To, From: p.From, Bytes: uint64(p.Bytes)}
	}
	x.run.Do(func() error { return s.copier.Wait(s.passed[flow]) })
	x.run.Do(func() error { return s.copier.Copies(spans, s.sent[flow]) })
}

// Counts returns the copies that bring the histograms of this device, with the given
// number, to another one.
func (x *Share) Counts(self int, other *Share) (list []Piece) {
	for side, from := range x.local {
		list = append(list, Piece{From: driver.Ptr(from), To: driver.Ptr(other.countsAt(side, self)), Bytes: 4 << x.run.bits})
	}
	return list
}

// countsAt is where the histogram of another device is copied.
func (x *Share) countsAt(side, device int) uint64 {
	return x.copies[side] + uint64(device)*4<<x.run.bits
}

// WaitSent waits until this device's first pass of a flow has ended.
func (x *Share) WaitSent(ctx context.Context, flow int) error {
	return x.counted(ctx, x.sender.sent[flow])
}

// first returns the ordinary first pass of a side, whose rows all stay in this device's memory,
// and nil if it has to be a pass that can send: row ids are those of all devices, and columns
// that are not aligned any more need another kernel.
func (x *Share) first(side int) *driver.Kernel {
	r := x.run
	k, s := r.kernels.first[side], r.shapes[side]
	if s.form == byID || s.form == fields && firstKernel(r.keyWords, s, r.aligned()[side]) != k.Name {
		return nil
	}
	return k
}

// keptValues describes how an ordinary first pass packs a side's values from the given row on;
// nil if it moves columns.
func (x *Share) keptValues(side int, from int64) []packedField {
	r := x.run
	switch s := &r.d.Side[side]; r.shapes[side].form {
	case fields:
		return packedFields(carryValues(r.keyWords, r.shapes[side], r.widths[side]), r.Sides[side], from, s.First, s.FirstCapacity)
	case packed:
		return packedFields(packValues(r.widths[side]), r.Sides[side], from, r.lanes[side], r.laneRows[side])
	}
	return nil
}

// keptBytes is the most that keptValues of a flow may take.
func (x *Share) keptBytes(side int) int { return valueBytes * len(x.keptValues(side, 0)) }

// takeLanes takes memory for the lanes of a packed side, with as many rows as its buffer.
func (x *Share) takeLanes(side int, capacity int64) {
	r := x.run
	if r.modes[side] != pack {
		return
	}
	r.laneRows[side] = roundUp(capacity, 64)
	r.lanes[side] = r.Take(int64(r.laneRows[side]) * 4 * int64(r.shapes[side].words))
}

// packedBytes is the size of the description of packed payload in one flow.
func (x *Share) packedBytes() (bytes int64) {
	for side, s := range x.run.shapes {
		if s.form == packed {
			bytes += int64(len(x.run.widths[side])+packedEnd) * valueBytes
		}
	}
	return bytes
}

// packedAt is where the description of the sources' packed payload begins.
func (x *Share) packedAt() uint64 {
	return x.fieldsAt() + uint64(len(x.flows)*2*maxCarried*fieldBytes)
}

// sentValues describes a packed side's values from the given row on: where they are read,
// and in which lane of a receiver's they are written. In a buffer of one row at address 0, a
// lane's address is where it begins in a row: the kernel computes each receiver's address from it.
func (x *Share) sentValues(side int, from int64) []packedField {
	return append(packedFields(packValues(x.run.widths[side]), x.run.Sides[side], from, 0, 1), make([]packedField, packedEnd)...)
}
