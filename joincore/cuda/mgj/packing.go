//go:build cuda

package mgj

import (
	"context"

	"gpujoin/joincore/cuda/columnar/phj"
)

// beginPacking notes that nothing is compressed yet, and that nothing will be if kernels do not do it.
func (j *join) beginPacking() {
	j.packs = j.packs && len(j.shares) > 1 && j.shares[0].Compresses()
	j.packing = newPacking(j.packer, len(j.shares), j.shares[0].Flows())
}

// sideOf returns the side of a flow.
func (j *join) sideOf(flow int) int {
	if flow < j.shares[0].Builds() {
		return 0
	}
	return 1
}

// pack has GPU i begin to compress what it sends of a flow, if that is expected to pay.
func (j *join) pack(i, flow int) {
	if j.packing.begin(i, flow, j.sideOf(flow)) {
		j.shares[i].Compress(flow)
	}
}

// packNext waits until GPU i has compressed what it sends of a flow, says what of it travels so, and has
// it begin with the next flow before end.
func (j *join) packNext(ctx context.Context, i, flow, end int) {
	if j.packing.begun[flow][i] {
		raw, wire := j.shares[i].Compressed(ctx, flow)
		j.packing.ended(i, flow, j.sideOf(flow), raw, wire)
	}
	if next := flow + 1; next < end {
		j.pack(i, next)
	}
}

// wire returns the bytes of a flow's compressed rows from one GPU to another; 0: rows travel as they are.
func (j *join) wire(flow, from, to int) int64 { return j.packing.wires[flow][from][to] }

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
	for flow := range j.counts {
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
