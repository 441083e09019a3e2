package cpu

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Partition is a stable radix partition in two passes over ranges of the input:
// count, then move.
func (d *dev) Partition(ctx context.Context, from device.Space, spec device.PartitionSpec) (device.Partitions, error) {
	parts := 1 << spec.Bits // and one more, for NULL keys
	nulls := dropped
	if spec.KeepNulls {
		nulls = uint16(parts)
	}
	src := asSpace(from)
	by := radix{low: d.seed, shift: 64 - uint(spec.Bits)}
	v, err := d.divide(ctx, src, spec.Key, by, parts+1, nulls)
	if err != nil {
		return nil, err
	}
	defer v.free()
	p := &partitioner{division: v, payload: payload{rowIDs: spec.RowIDs, columns: spec.Carry}}
	out := &space{dev: d, input: -1, shift: 32, key: spec.Key, bounds: v.bounds, rows: []int{v.total()}}
	if err = p.allocate(out, v.total(), spec.KeepNulls); err == nil {
		err = p.move(ctx)
	}
	if err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

func (s *space) Bounds() device.Future[[]int64] { return device.Known(s.bounds) }

// span is a run of rows within a segment.
type span struct{ segment, first, n int }

// ranges divides a space into about n parts of equal size, of no fewer rows than least
// and leastRange.
func (s *space) ranges(n, least int) [][]span {
	const leastRange = 1 << 14
	each := max(s.total()/n+1, leastRange, least)
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
	*division
	keys []uint64
	payload
}

func (p *partitioner) allocate(out *space, n int, keepNulls bool) error {
	keys, err := alloc[uint64](out.dev, n)
	if err != nil {
		return err
	}
	out.ownKeys(keys)
	p.keys = keys
	return p.payload.allocate(out, n, keepNulls)
}

// ownKeys makes keys, sorted or partitioned, those of the space, which frees them.
func (s *space) ownKeys(keys []uint64) {
	s.release = append(s.release, func() { free(s.dev, keys) })
	s.keys = &column{kind: joincore.Fixed, width: 8, v64: [][]uint64{keys}}
}
