//go:build cuda

package rowid

import (
	"fmt"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// BenchmarkPartition is what a table of destinations costs: rows go to the
// arena, to allocations apart, and to another device. GB/s are modelled bytes,
// those of the histogram included.
func BenchmarkPartition(b *testing.B) {
	const rows = 1 << 27
	for _, width := range []int{4, 8} {
		for _, bits := range []int{7, 14} {
			for _, where := range []string{"arena", "apart", "peer"} {
				b.Run(fmt.Sprintf("%dB-%dbits-%s", width, bits, where), func(b *testing.B) {
					r := newRig(b, 12<<30)
					keys := r.alloc(int64(width) * rows)
					r.must(r.Number(int64(width/4)*rows, keys)) // distinct ones; their hashes are what counts
					side := keyOnly(0, keys, width, rows)
					column := fixed(width)
					key, _ := device.Keys([]joincore.KeyPair{{Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}}, func(joincore.ColumnRef) joincore.Column { return column })
					spec := &PartitionSpec{Key: key, Options: Options{Bits: bits}}
					if where != "arena" {
						spec.To = r.destinations(side, spec, where == "peer")
					}
					r.must(r.Sync(r.ctx))
					before := r.cost.Bytes
					for b.Loop() {
						p, err := r.Partition(r.ctx, side, spec)
						r.must(err)
						r.must(p.Fits(r.ctx))
						r.must(r.Sync(r.ctx))
						p.Release()
					}
					b.SetBytes((r.cost.Bytes - before) / int64(b.N))
				})
			}
		}
	}
}

// destinations allocates a side's partitions in any order.
func (r *rig) destinations(side Side, spec *PartitionSpec, peer bool) []Destination {
	p, err := r.Partition(r.ctx, side, spec)
	r.must(err)
	h, err := p.Histogram(r.ctx)
	r.must(err)
	sizes, err := h.Wait(r.ctx)
	r.must(err)
	p.Release()
	lanes, from := lanesOf(keyWords(spec.Key)+1), r.arena
	if peer {
		from = r.peer(3 << 30)
	}
	to := make([]Destination, len(sizes)*len(lanes))
	for _, i := range r.rand.Perm(len(to)) {
		var at driver.Ptr
		at, err = from.Take(sizes[i/len(lanes)] * int64(lanes[i%len(lanes)]))
		r.must(err)
		to[i] = Destination{At: at, Rows: sizes[i/len(lanes)]}
	}
	return to
}
