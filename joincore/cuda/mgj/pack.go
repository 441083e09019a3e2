package mgj

import (
	"math"
	"slices"

	"gpujoin/joincore/costmodel"
)

// Pack says when rows are compressed before they cross links.
type Pack int

const (
	// PackPays compresses rows that are copied or staged where that saves time, and has rows copied for it that
	// would be stored.
	PackPays Pack = iota
	// PackAlways compresses all rows that are copied or staged, and has rows copied unless Way says otherwise.
	PackAlways
	// PackNever compresses none.
	PackNever
)

// packer decides what is compressed.
type packer struct {
	when Pack
	// GB/s: of the link, and at which a GPU compresses and expands.
	link, pack, unpack float64
}

// newPacker returns a packer for links of a rate, and GPUs that compress and expand at another one.
func newPacker(when Pack, link, compress float64) packer {
	return packer{when: when, link: link, pack: compress, unpack: compress}
}

// tries reports whether compression may pay for a join in which a GPU sends some bytes to
// others.
func (p packer) tries(sent int64) bool {
	return p.when == PackAlways || p.when == PackPays && sent >= costmodel.LeastCompressed && p.expects(costmodel.CompressedPart)
}

// expects reports whether rows are to be compressed that are expected to have the given part of
// their bytes then.
func (p packer) expects(part float64) bool {
	return p.when == PackAlways || p.when == PackPays && costmodel.CompressionPays(1, part, p.link, p.pack, p.unpack)
}

// sends reports whether rows that have been compressed are sent so: only to expand them still takes time.
func (p packer) sends(raw, wire int64) bool {
	return raw > 0 && (p.when == PackAlways || costmodel.CompressionPays(float64(raw), float64(wire), p.link, math.Inf(1), p.unpack))
}

// packing is what of a join's rows is compressed. Different GPUs use it at once.
type packing struct {
	packer
	shrunk [2][]float64 // by side and GPU: the part of their bytes that rows had in compressed form
	begun  [][]bool     // by flow and sender
	wires  [][][]int64  // bytes by flow, sender and receiver; 0: rows travel as they are
}

// newPacking returns a packing of flows of which nothing is compressed yet.
func newPacking(p packer, gpus, flows int) packing {
	x := packing{packer: p}
	for side := range x.shrunk {
		x.shrunk[side] = slices.Repeat([]float64{costmodel.CompressedPart}, gpus)
	}
	for range flows {
		wires := make([][]int64, gpus)
		for i := range wires {
			wires[i] = make([]int64, gpus)
		}
		x.begun, x.wires = append(x.begun, make([]bool, gpus)), append(x.wires, wires)
	}
	return x
}

// begin reports whether a GPU is to compress what it sends of a flow, by what it has compressed of the
// flow's side, and notes that it does.
func (x *packing) begin(gpu, flow, side int) bool {
	x.begun[flow][gpu] = x.expects(x.shrunk[side][gpu])
	return x.begun[flow][gpu]
}

// ended notes the bytes that rows of a flow and their compressed form have, by receiver, and says which of them are
// sent so.
func (x *packing) ended(gpu, flow, side int, raw, wire []int64) {
	all, sent := int64(0), int64(0)
	for to := range raw {
		all, sent = all+raw[to], sent+wire[to]
		if x.sends(raw[to], wire[to]) {
			x.wires[flow][gpu][to] = wire[to]
		}
	}
	if all > 0 {
		x.shrunk[side][gpu] = float64(sent) / float64(all)
	}
}
