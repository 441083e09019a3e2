//go:build cuda

package phj

import (
	"context"

	"gpujoin/joincore/cuda/driver"
)

// staged is memory for a block that is copied to another device.
type staged struct {
	rows, lanes uint64
	capacity    uint64 // rows
}

// Piece is bytes to copy from one device's memory to that of another one.
type Piece struct {
	From, To driver.Ptr
	Bytes    int64
}

// secondPasses is the number of second passes of a flow.
func (x *Share) secondPasses() int {
	if x.cut.Staged {
		return x.cut.Devices
	}
	return 1
}

// takeBlocks takes memory for a side's blocks, by flow of the side and receiver. That of
// a device for itself has no rows.
func (x *Share) takeBlocks(side int, blocks [][]Block) {
	r := x.run
	for _, flow := range blocks {
		for _, b := range flow {
			s := staged{capacity: uint64(b.Rows)}
			s.rows = r.Take(b.Rows * x.bufferBytes(side))
			if r.modes[side] == pack {
				s.lanes = r.Take(b.Rows * 4 * int64(r.shapes[side].words))
			}
			x.staged = append(x.staged, s)
		}
	}
}

// Blocks returns the copies that bring a block of a flow to the device with number `to`,
// whose share is other.
func (x *Share) Blocks(flow, to int, other *Share, b Block) (list []Piece) {
	if b.Rows == 0 {
		return nil
	}
	side := x.flows[flow].side
	from, into := x.staged[flow*x.cut.Devices+to], &other.run.d.Side[side]
	lanes := func(source, target, capacity uint64, sizes []int64) {
		before := int64(0) // bytes of a row
		for _, bytes := range sizes {
			list = append(list, Piece{
				From: driver.Ptr(source) + driver.Ptr(b.Rows*before), To: driver.Ptr(target) + driver.Ptr(int64(capacity)*before+b.At*bytes), Bytes: b.Rows * bytes,
			})
			before += bytes
		}
	}
	lanes(from.rows, into.First, into.FirstCapacity, laneSizes(int(x.bufferBytes(side)/4)))
	if x.run.modes[side] == pack {
		lanes(from.lanes, other.run.lanes[side], other.run.laneRows[side], packedLaneSizes(4*x.run.shapes[side].words))
	}
	return list
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
