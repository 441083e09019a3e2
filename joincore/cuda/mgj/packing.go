//go:build cuda

package mgj

import (
	"context"

	"gpujoin/joincore/cuda/columnar/phj"
)

// packedFlow is what of a flow is compressed.
type packedFlow struct {
	begun []bool    // by sender
	wire  [][]int64 // bytes by sender and receiver; 0: rows travel as they are
}

// beginPacking notes that nothing is compressed yet, and that nothing will be if kernels do not do it.
func (j *join) beginPacking() {
	n := len(j.shares)
	j.packs = j.packs && n > 1 && j.shares[0].Compresses()
	j.packed = make([]packedFlow, j.shares[0].Flows())
	for flow := range j.packed {
		f := &j.packed[flow]
		f.begun, f.wire = make([]bool, n), make([][]int64, n)
		for i := range f.wire {
			f.wire[i] = make([]int64, n)
		}
	}
	for side := range j.shrunk {
		j.shrunk[side] = make([]float64, n)
		for i := range j.shrunk[side] {
			j.shrunk[side][i] = hopeful
		}
	}
}

// sideOf returns the side of a flow.
func (j *join) sideOf(flow int) int {
	if flow < j.shares[0].Builds() {
		return 0
	}
	return 1
}

// pack has GPU i begin to compress what it sends of a flow, if that is expected to pay by what it has
// compressed of the side.
func (j *join) pack(i, flow int) {
	if f := &j.packed[flow]; j.packer.expects(j.shrunk[j.sideOf(flow)][i]) {
		f.begun[i] = true
		j.shares[i].Compress(flow)
	}
}

// packNext waits until GPU i has compressed what it sends of a flow, says what of it travels so, and has
// it begin with the next flow before end.
func (j *join) packNext(ctx context.Context, i, flow, end int) {
	if f := &j.packed[flow]; f.begun[i] {
		raw, wire := j.shares[i].Compressed(ctx, flow)
		all, sent := int64(0), int64(0)
		for to := range raw {
			all, sent = all+raw[to], sent+wire[to]
			if j.packer.sends(raw[to], wire[to]) {
				f.wire[i][to] = wire[to]
			}
		}
		if all > 0 {
			j.shrunk[j.sideOf(flow)][i] = float64(sent) / float64(all)
		}
	}
	if next := flow + 1; next < end {
		j.pack(i, next)
	}
}

// wire returns the bytes of a flow's compressed rows from one GPU to another; 0: rows travel as they are.
func (j *join) wire(flow, from, to int) int64 { return j.packed[flow].wire[from][to] }

// pieces returns the copies of a flow from one GPU to another.
func (j *join) pieces(flow, from, to int) []phj.Piece {
	x, other := j.shares[from], j.shares[to]
	if bytes := j.wire(flow, from, to); bytes > 0 {
		return x.Parcel(flow, from, to, other, bytes)
	}
	return x.Blocks(flow, other, j.staged[flow][from][to])
}

// reportPacked adds up what was compressed.
func (j *join) reportPacked() {
	for flow := range j.packed {
		side := j.sideOf(flow)
		for from := range j.shares {
			for to := range j.shares {
				if wire := j.wire(flow, from, to); wire > 0 {
					raw := receivedOf(j.counts[flow][from], j.to[side], from, to) * j.shares[0].RowBytes(side)
					j.report.Packed += raw
					j.report.Saved += raw - wire
				}
			}
		}
	}
}
