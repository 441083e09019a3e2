//go:build cuda

package phj

import "gpujoin/joincore/cuda/driver"

// first returns the first pass of a side whose rows all stay, and nil if it has to be a
// pass that can send: row ids are those of all devices, and lists of values are described
// by receiver.
func (x *Share) first(side int) *driver.Kernel {
	switch x.run.shapes[side].form {
	case byID, packed, fields:
		return nil
	}
	return x.run.kernels.first[side]
}

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
// and in which lane of a receiver's they are written.
func (x *Share) sentValues(side int, from int64) (list []packedField) {
	for _, v := range packValues(x.run.widths[side]) {
		column := x.run.Sides[side].Payload[v.column]
		width := uint64(column.Bytes)
		list = append(list, packedField{From: uint64(column.Addr) + uint64(from)*width, Bytes: width, Offset: uint64(v.offset), Lane: uint64(v.lane), LaneBytes: uint64(v.laneSize)})
	}
	return append(list, make([]packedField, packedEnd)...)
}
