//go:build amd64 || arm64

package cpu

import (
	"context"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Partition is a stable radix partition in two passes over ranges of the input:
// count, then move. Each range has its own part of every partition, so streams never
// write to the same place.
func (d *dev) Partition(ctx context.Context, from device.Space, spec device.PartitionSpec) (device.Partitions, error) {
	src := asSpace(from)
	ranges := src.ranges(d.streams * 8)
	total := src.total()
	p := &partitioner{
		spec: spec, payload: payload{rowIDs: spec.RowIDs, columns: spec.Carry}, src: src, parts: 1<<spec.Bits + 1,
		shift: 64 - uint(spec.Bits),
	}
	places, err := alloc[uint32](d, 2*len(ranges)*p.parts)
	if err != nil {
		return nil, err
	}
	defer free(d, places)
	clear(places)
	for range ranges {
		p.counts, p.ends = append(p.counts, places[:p.parts]), append(p.ends, places[p.parts:2*p.parts])
		places = places[2*p.parts:]
	}
	if err := d.parallel(ctx, len(ranges), func(st *stream, i int) error {
		return p.count(ctx, st, ranges[i], p.counts[i])
	}); err != nil {
		return nil, err
	}
	out := &space{dev: d, input: -1, shift: 32, key: spec.Key}
	out.bounds = p.offsets()
	n := int(out.bounds[p.parts])
	if n > total {
		return nil, errChanged
	}
	out.rows = []int{n}
	if err := p.allocate(out, n); err != nil {
		out.Release()
		return nil, err
	}
	if err := d.parallel(ctx, len(ranges), func(st *stream, i int) error {
		return p.move(ctx, st, ranges[i], p.counts[i])
	}); err != nil {
		out.Release()
		return nil, err
	}
	if !p.complete() {
		out.Release()
		return nil, errChanged
	}
	return out, nil
}

// errChanged reports that an input was modified between the two passes.
var errChanged = fmt.Errorf("input changed while it was read: %w", joincore.ErrInvalid)

func (s *space) Bounds() device.Future[[]int64] { return device.Known(s.bounds) }

// span is a run of rows within a segment.
type span struct{ segment, first, n int }

// ranges divides a space into about n parts of equal size.
func (s *space) ranges(n int) [][]span {
	const least = 1 << 14
	each := max(s.total()/n+1, least)
	var out [][]span
	var now []span
	room := each
	for segment, left := range s.rows {
		for first := 0; left > 0; {
			take := min(left, room)
			now = append(now, span{segment, first, take})
			first, left, room = first+take, left-take, room-take
			if room == 0 {
				out, now, room = append(out, now), nil, each
			}
		}
	}
	if now != nil {
		out = append(out, now)
	}
	return out
}

type partitioner struct {
	spec   device.PartitionSpec
	src    *space
	parts  int // the last one for NULL keys
	shift  uint
	counts [][]uint32 // by range and partition: its rows, then where its next row goes
	ends   [][]uint32 // by range and partition: the end of its part
	keys   []uint64
	payload
}

// eachChunk calls f for all rows of a range.
func (p *partitioner) eachChunk(ctx context.Context, st *stream, spans []span, f func(r *rows, keys []uint64, sel []uint32)) error {
	for _, s := range spans {
		for at := 0; at < s.n; at += st.dev.chunk {
			if err := st.yield(ctx); err != nil {
				return err
			}
			r := st.scanRows(p.src, s.segment, s.first+at, min(st.dev.chunk, s.n-at))
			keys, sel := st.keys.compute(r, p.spec.Key, st.dev.inputs)
			f(r, keys, sel)
		}
	}
	return nil
}

func (p *partitioner) count(ctx context.Context, st *stream, spans []span, counts []uint32) error {
	seed, shift, nulls := st.dev.seed, p.shift, p.parts-1
	return p.eachChunk(ctx, st, spans, func(r *rows, keys []uint64, _ []uint32) {
		for _, k := range keys {
			counts[mix(k^seed)>>shift]++
		}
		if p.spec.KeepNulls {
			counts[nulls] += uint32(r.n - len(keys))
		}
	})
}

// offsets turns counts into the start of each range in each partition, and returns
// the start of each partition.
func (p *partitioner) offsets() []int64 {
	bounds := make([]int64, p.parts+1)
	at := int64(0)
	for part := range p.parts {
		bounds[part] = at
		for i, c := range p.counts {
			n := c[part]
			c[part] = uint32(at)
			at += int64(n)
			p.ends[i][part] = uint32(at)
		}
	}
	bounds[p.parts] = at
	return bounds
}

// complete reports whether every range filled its parts exactly.
func (p *partitioner) complete() bool {
	for part := range p.parts {
		for i, c := range p.counts {
			if c[part] != p.ends[i][part] {
				return false
			}
		}
	}
	return true
}

func (p *partitioner) allocate(out *space, n int) error {
	keys, err := alloc[uint64](out.dev, n)
	if err != nil {
		return err
	}
	out.ownKeys(keys)
	p.keys = keys
	return p.payload.allocate(out, n, p.spec.KeepNulls)
}

// ownKeys makes keys, sorted or partitioned, those of the space, which frees them.
func (s *space) ownKeys(keys []uint64) {
	s.release = append(s.release, func() { free(s.dev, keys) })
	s.keys = &column{kind: joincore.Fixed, width: 8, v64: [][]uint64{keys}}
}
