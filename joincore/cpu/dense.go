//go:build amd64 || arm64

package cpu

import (
	"context"

	"gpujoin/joincore/device"
)

// KeyRange computes the range of a space's exact keys, once per space.
func (d *dev) KeyRange(ctx context.Context, from device.Space, key *device.Key) (device.KeyRange, error) {
	s := asSpace(from)
	if !key.Exact {
		return device.KeyRange{}, nil
	}
	if r, ok := s.ranged[key]; ok {
		return r, nil
	}
	parts := s.ranges(d.streams * 2)
	each := make([]device.KeyRange, len(parts))
	err := d.parallel(ctx, len(parts), func(st *stream, i int) error {
		return st.eachChunkOf(ctx, s, parts[i], key, func(keys []uint64, _ []uint32, _ uint32) error {
			each[i].Merge(rangeOf(keys))
			return nil
		})
	})
	if err != nil {
		return device.KeyRange{}, err
	}
	var all device.KeyRange
	for _, r := range each {
		all.Merge(r)
	}
	s.ranged = map[*device.Key]device.KeyRange{key: all}
	return all, nil
}

func rangeOf(keys []uint64) device.KeyRange {
	if len(keys) == 0 {
		return device.KeyRange{}
	}
	low, high := int64(keys[0]), int64(keys[0])
	for _, k := range keys {
		low, high = min(low, int64(k)), max(high, int64(k))
	}
	return device.KeyRange{Rows: int64(len(keys)), Low: low, High: high}
}

// fillDense makes the table an array. The streams divide the key range, not the
// rows, so no element is written by two streams.
func (t *table) fillDense(ctx context.Context, m *device.Match, low, high int64) error {
	size := uint64(high-low) + 1
	heads, err := alloc[uint32](t.dev, int(size)+1) // one more, always 0
	if err != nil {
		return err
	}
	t.dense, t.low = heads, uint64(low)
	heads[size] = 0
	regions := 1
	if t.space.total() >= parallelBuild {
		regions = t.dev.streams
	}
	return t.dev.parallel(ctx, regions, func(st *stream, i int) error {
		from, to := size*uint64(i)/uint64(regions), size*uint64(i+1)/uint64(regions)
		if err := zero(ctx, heads[from:to]); err != nil {
			return err
		}
		return st.eachChunk(ctx, t.space, m.Build, func(keys []uint64, sel []uint32, first uint32) error {
			return t.insertDense(ctx, from, to, keys, sel, first)
		})
	})
}

// insertDense inserts the keys in [from, to) of the range.
func (t *table) insertDense(ctx context.Context, from, to uint64, keys []uint64, sel []uint32, first uint32) error {
	part := t.dense[from:to]
	low := t.low + from
	for i, k := range keys {
		at := k - low
		if at >= uint64(len(part)) {
			continue
		}
		position := first + uint32(i)
		if sel != nil {
			position = first + sel[i]
		}
		old := part[at]
		part[at] = position + 1
		if old == 0 {
			continue
		}
		if err := t.follows(ctx, position, old); err != nil {
			return err
		}
	}
	return nil
}

// lookupDense finds the chain of each key with one load.
func (t *table) lookupDense(keys []uint64, head []uint32) {
	dense, low := t.dense, t.low
	last := uint64(len(dense) - 1)
	head = head[:len(keys)]
	for i, k := range keys {
		head[i] = dense[min(k-low, last)]
	}
}
