package cpu

import (
	"context"
	"math/bits"
	"sync/atomic"

	"gpujoin/joincore/device"
)

// dividedBuild is the number of rows from which a table's rows are divided among
// regions of it.
const dividedBuild = 1 << 15

// regionBytes is the size of a region of a table: it stays in a core's own cache while
// its rows are inserted.
const regionBytes = 1 << 19

// Build makes one table of all rows of a space. Of many rows, the keys and positions
// are first divided among regions of the table, each of which one stream then fills:
// no entry is written by two streams, and each insertion finds its region in the cache.
func (d *dev) Build(ctx context.Context, from device.Space, m *device.Match) (device.Table, error) {
	s := asSpace(from)
	if err := s.needMarks(m); err != nil {
		return nil, err
	}
	keys, err := d.KeyRange(ctx, s, m.Build)
	if err != nil {
		return nil, err
	}
	t := &table{dev: d, space: s, span: s.positions()}
	switch {
	case keys.Dense(m.ProbeRows):
		err = t.fillDense(ctx, m, keys.Low, keys.High)
	case s.total() >= dividedBuild:
		err = t.fillRegions(ctx, m)
	default:
		err = t.fill(ctx, m)
	}
	if err == nil && worthMembership(keys, m.ProbeRows) {
		err = t.addMembership(ctx, m, keys)
	}
	if err != nil {
		t.Release()
		return nil, err
	}
	return t, nil
}

// fill builds with one stream. The table of many rows starts small and grows with the
// number of distinct keys.
func (t *table) fill(ctx context.Context, m *device.Match) error {
	if err := t.reset(ctx, min(t.space.total(), dividedBuild)); err != nil {
		return err
	}
	return t.dev.parallel(ctx, 1, func(st *stream, _ int) error {
		return st.eachChunk(ctx, t.space, m.Build, func(keys []uint64, sel []uint32, first uint32) error {
			return t.insert(ctx, keys, sel, first)
		})
	})
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
	return st.eachRows(ctx, s, spans, func(r *rows) error {
		keys, sel := st.keys.compute(r, key, st.dev.inputs)
		return f(keys, sel, r.slots[0].first)
	})
}

// regionsFor returns the number of regions, a power of 2, of a table of the given size:
// small enough for a core's cache, and several for each stream, but none smaller than
// least bytes.
func (d *dev) regionsFor(bytes, least int) int {
	n := bytes / regionBytes
	if d.streams > 1 {
		n = max(n, 4*d.streams)
	}
	n = min(n, bytes/least, mostParts)
	return 1 << bits.Len(uint(max(n, 1)-1))
}

// tableEntry is the size of an entry.
const tableEntry = 16

// Regions of a table with repeating keys may turn out to be much smaller than planned.
const (
	leastRegion  = 64   // entries
	plannedBytes = 4096 // of a region if keys do not repeat
)

// fillRegions builds with all streams. The table's size follows from the distinct keys
// of one region, which are a sample of all: hashes are spread evenly. A region can only
// overflow if keys were made to collide; then fill builds the table.
func (t *table) fillRegions(ctx context.Context, m *device.Match) error {
	regions := t.dev.regionsFor(entriesFor(t.space.total(), smallTable)*tableEntry, plannedBytes)
	if regions == 1 {
		return t.fill(ctx, m)
	}
	width := uint(bits.Len(uint(regions - 1)))
	v, err := t.dev.divide(ctx, t.space, m.Build, radix{low: t.dev.seed, shift: 64 - width}, regions, dropped)
	if err != nil {
		return err
	}
	defer v.free()
	var p pairs
	defer p.free(t.dev)
	if err := p.alloc(t.dev, v.total()); err != nil {
		return err
	}
	if err := v.pairs(ctx, p); err != nil {
		return err
	}
	v.free()
	distinct, err := t.distinct(ctx, p.keys[:v.bounds[1]], width, v.total()/regions)
	if err != nil {
		return err
	}
	if err := t.reserve(max(entriesFor(min(distinct*regions, v.total()), smallTable), leastRegion*regions)); err != nil {
		return err
	}
	t.wrap = uint64(len(t.entries)/regions - 1)
	var overflow atomic.Bool
	err = t.dev.parallel(ctx, regions, func(st *stream, i int) error {
		if overflow.Load() {
			return nil
		}
		from, to := v.bounds[i], v.bounds[i+1]
		full, err := t.fillRegion(ctx, st, uint64(i), p.keys[from:to], p.pos[from:to])
		if full {
			overflow.Store(true)
		}
		return err
	})
	if err != nil || !overflow.Load() {
		return err
	}
	p.free(t.dev)
	return t.fill(ctx, m)
}

// pairs writes the rows' keys and positions to their places.
func (v *division) pairs(ctx context.Context, p pairs) error {
	return v.move(ctx, 2, func(w *writer) func(*stream, *moved) {
		keys, pos := linesTo(w, p.keys), linesTo(w, p.pos)
		return func(st *stream, m *moved) {
			keys.put(w, m.keys)
			at := st.v32[:m.n]
			m.slots[0].copyTo(at, 0)
			pos.put(w, pick(at, at, m.sel))
		}
	})
}

// distinct counts the distinct keys of a region; mean is how many rows a region has on
// average. Rows may come in the order of their hashes: a table for the keys of an average
// region need not grow while it holds neighbours only.
func (t *table) distinct(ctx context.Context, keys []uint64, width uint, mean int) (int, error) {
	sample := &table{dev: t.dev, span: len(keys), skip: width}
	defer sample.Release()
	if err := sample.reset(ctx, min(len(keys), max(growFrom, 2*mean))); err != nil {
		return 0, err
	}
	for from := 0; from < len(keys); from += stepRows {
		if err := stopped(ctx); err != nil {
			return 0, err
		}
		if err := sample.insert(ctx, keys[from:min(from+stepRows, len(keys))], nil, uint32(from)); err != nil {
			return 0, err
		}
	}
	return sample.used, nil
}

// fillRegion empties a region and inserts its rows. It reports whether the region is
// too small.
func (t *table) fillRegion(ctx context.Context, st *stream, region uint64, keys []uint64, pos []uint32) (full bool, err error) {
	size := t.wrap + 1
	clear(t.entries[region*size : (region+1)*size])
	left := int(size / 8 * 7)
	for from := 0; from < len(keys); from += stepRows {
		if err := st.yield(ctx); err != nil {
			return false, err
		}
		to := min(from+stepRows, len(keys))
		if left, err = t.insertRegion(ctx, left, keys[from:to], pos[from:to]); left < 0 || err != nil {
			return left < 0, err
		}
	}
	return false, nil
}

// insertRegion inserts rows that belong to one region. left is the number of entries that
// may still be filled; it returns what is left of it, -1 if it does not suffice.
func (t *table) insertRegion(ctx context.Context, left int, keys []uint64, pos []uint32) (int, error) {
	entries, seed, wrap := t.entries, t.dev.seed, t.wrap
	pos = pos[:len(keys)]
	for i, key := range keys {
		at := mix(key^seed) >> t.shift
		for {
			e := &entries[at]
			if e.head == 0 {
				if left == 0 {
					return -1, nil
				}
				left--
				*e = entry{key: key, head: pos[i] + 1}
				break
			}
			if e.key == key {
				if err := t.link(ctx, e, pos[i]); err != nil {
					return 0, err
				}
				break
			}
			at = at&^wrap | (at+1)&wrap
		}
	}
	return left, nil
}
