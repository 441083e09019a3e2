//go:build amd64 || arm64

package cpu

import (
	"context"
	"math/bits"
	"sync/atomic"

	"gpujoin/joincore/device"
)

// parallelBuild is the number of rows from which all streams build one table.
const parallelBuild = 1 << 15

// Build makes one table of all rows of a space. The streams divide the entries, not
// the rows: each reads all keys and inserts those whose hash falls into its region,
// so no entry is written by two streams.
func (d *dev) Build(ctx context.Context, from device.Space, m *device.Match) (device.Table, error) {
	s := asSpace(from)
	if m.Mark {
		if err := s.marks.need(s); err != nil {
			return nil, err
		}
	}
	total := s.total()
	t := &table{dev: d, space: s, span: s.positions()}
	keys, err := d.KeyRange(ctx, s, m.Build)
	if err != nil {
		return nil, err
	}
	if keys.Dense(m.ProbeRows) {
		if err := t.fillDense(ctx, m, keys.Low, keys.High); err != nil {
			t.Release()
			return nil, err
		}
		return t, nil
	}
	if d.streams > 1 && total >= parallelBuild {
		full, err := t.fillRegions(ctx, m, total)
		if err == nil && !full {
			return t, nil
		}
		t.Release()
		if err != nil {
			return nil, err
		}
	}
	// The table starts small and grows with the number of distinct keys.
	if err := t.reset(ctx, min(total, growFrom)); err != nil {
		return nil, err
	}
	err = d.parallel(ctx, 1, func(st *stream, _ int) error {
		return st.eachChunk(ctx, s, m.Build, func(keys []uint64, sel []uint32, first uint32) error {
			return t.insert(ctx, keys, sel, first)
		})
	})
	if err != nil {
		t.Release()
		return nil, err
	}
	return t, nil
}

// eachChunk computes the keys of all rows of a space.
func (st *stream) eachChunk(ctx context.Context, s *space, key *device.Key, f func(keys []uint64, sel []uint32, first uint32) error) error {
	for segment, n := range s.rows {
		if err := st.eachChunkOf(ctx, s, []span{{segment, 0, n}}, key, f); err != nil {
			return err
		}
	}
	return nil
}

// eachChunkOf is eachChunk for the rows of some spans.
func (st *stream) eachChunkOf(ctx context.Context, s *space, spans []span, key *device.Key, f func(keys []uint64, sel []uint32, first uint32) error) error {
	for _, p := range spans {
		for at := 0; at < p.n; at += st.dev.chunk {
			if err := st.yield(ctx); err != nil {
				return err
			}
			r := st.scanRows(s, p.segment, p.first+at, min(st.dev.chunk, p.n-at))
			keys, sel := st.keys.compute(r, key, st.dev.inputs)
			if err := f(keys, sel, r.slots[0].first); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillRegions builds with all streams. It reports full if a region overflows, which
// only colliding keys can cause.
func (t *table) fillRegions(ctx context.Context, m *device.Match, total int) (full bool, err error) {
	if err := t.reset(ctx, total); err != nil {
		return false, err
	}
	regions := 1 << bits.Len(uint(t.dev.streams-1))
	t.wrap = uint64(len(t.entries)/regions - 1)
	var overflow atomic.Bool
	err = t.dev.parallel(ctx, regions, func(st *stream, region int) error {
		used := 0
		return st.eachChunk(ctx, t.space, m.Build, func(keys []uint64, sel []uint32, first uint32) error {
			if overflow.Load() {
				return nil
			}
			ok, err := t.insertRegion(ctx, uint64(region), &used, keys, sel, first)
			if !ok {
				overflow.Store(true)
			}
			return err
		})
	})
	return overflow.Load(), err
}

// insertRegion inserts the keys whose hash falls into one region.
func (t *table) insertRegion(ctx context.Context, region uint64, used *int, keys []uint64, sel []uint32, first uint32) (ok bool, err error) {
	entries, seed, wrap := t.entries, t.dev.seed, t.wrap
	width := uint(bits.Len64(wrap))
	limit := int(wrap+1) / 8 * 7
	for i, key := range keys {
		at := mix(key^seed) >> t.shift
		if at>>width != region {
			continue
		}
		position := first + uint32(i)
		if sel != nil {
			position = first + sel[i]
		}
		for {
			e := &entries[at]
			if e.head == 0 {
				if *used >= limit {
					return false, nil
				}
				*used++
				*e = entry{key: key, head: position + 1}
				break
			}
			if e.key == key {
				if err := t.link(ctx, e, position); err != nil {
					return false, err
				}
				break
			}
			at = at&^wrap | (at+1)&wrap
		}
	}
	return true, nil
}
