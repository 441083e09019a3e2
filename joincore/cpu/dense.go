package cpu

import (
	"context"
	"math/bits"

	"gpujoin/joincore"
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
	parts := s.ranges(d.streams*2, 0)
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

// fillDense makes the table an array. Of a large one, the rows are first divided among
// regions of it, each of which one stream then fills.
func (t *table) fillDense(ctx context.Context, m *device.Match, low, high int64) error {
	size := uint64(high-low) + 1
	heads, err := alloc[uint32](t.dev, int(size)+1) // one more, always 0
	if err != nil {
		return err
	}
	t.dense, t.low = heads, uint64(low)
	heads[size] = 0
	regions := 1
	if t.space.total() >= dividedBuild {
		regions = t.dev.regionsFor(4*int(size), plannedBytes)
	}
	if regions > 1 {
		return t.fillDenseRegions(ctx, m, regions)
	}
	return t.dev.parallel(ctx, 1, func(st *stream, _ int) error {
		if err := zero(ctx, heads[:size]); err != nil {
			return err
		}
		return st.eachChunk(ctx, t.space, m.Build, func(keys []uint64, sel []uint32, first uint32) error {
			return t.insertDense(ctx, keys, sel, first)
		})
	})
}

// insertDense inserts rows by their keys.
func (t *table) insertDense(ctx context.Context, keys []uint64, sel []uint32, first uint32) error {
	heads, low := t.dense[:len(t.dense)-1], t.low
	for i, k := range keys {
		at := k - low
		if at >= uint64(len(heads)) {
			return joincore.ErrChanged
		}
		position := first + uint32(i)
		if sel != nil {
			position = first + sel[i]
		}
		old := heads[at]
		heads[at] = position + 1
		if old == 0 {
			continue
		}
		if err := t.follows(ctx, position, old); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) fillDenseRegions(ctx context.Context, m *device.Match, regions int) error {
	size := uint64(len(t.dense) - 1)
	shift := uint(bits.Len64((size - 1) / uint64(regions)))
	regions = int((size-1)>>shift) + 1
	v, err := t.dev.divide(ctx, t.space, m.Build, radix{exact: true, low: t.low, shift: shift}, regions, dropped)
	if err != nil {
		return err
	}
	defer v.free()
	rows, err := alloc[uint64](t.dev, v.total())
	if err != nil {
		return err
	}
	defer free(t.dev, rows)
	if err := v.elements(ctx, rows); err != nil {
		return err
	}
	v.free()
	return t.dev.parallel(ctx, regions, func(st *stream, i int) error {
		part := t.dense[uint64(i)<<shift : min(uint64(i+1)<<shift, size)]
		clear(part)
		rows := rows[v.bounds[i]:v.bounds[i+1]]
		for from := 0; from < len(rows); from += stepRows {
			if err := st.yield(ctx); err != nil {
				return err
			}
			if err := t.insertElements(ctx, part, uint32(i)<<shift, rows[from:min(from+stepRows, len(rows))]); err != nil {
				return err
			}
		}
		return nil
	})
}

// elements writes for each row its element of the array, and its position, to its place.
func (v *division) elements(ctx context.Context, rows []uint64) error {
	return v.move(ctx, 1, func(w *writer) func(*stream, *moved) {
		to := linesTo(w, rows)
		return func(st *stream, m *moved) {
			at := st.v32[:m.n]
			m.slots[0].copyTo(at, 0)
			at = pick(at, at, m.sel)
			words := st.v64[:len(at)]
			for i, k := range m.keys {
				words[i] = (k-v.by.low)<<32 | uint64(at[i])
			}
			to.put(w, words)
		}
	})
}

// insertElements inserts rows into a part of the array that begins at the element first.
func (t *table) insertElements(ctx context.Context, part []uint32, first uint32, rows []uint64) error {
	for _, word := range rows {
		at, position := uint32(word>>32)-first, uint32(word)
		if int(at) >= len(part) {
			return joincore.ErrChanged
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

// lookupPartners does so if no key has several rows: it finds the only partner of each key, or
// none, and reports whether each has one.
func (t *table) lookupPartners(keys []uint64, to []uint32) (all bool) {
	dense, low := t.dense, t.low
	last := uint64(len(dense) - 1)
	to = to[:len(keys)]
	least := ^uint32(0)
	for i, k := range keys {
		h := dense[min(k-low, last)]
		to[i] = h - 1
		least = min(least, h)
	}
	return least > 0
}
