//go:build cuda

package phj

import "gpujoin/joincore/cuda/driver"

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
