package cpu

import (
	"context"
	"math/bits"
	"slices"
	"sync/atomic"

	"gpujoin/joincore/device"
)

// Sort orders a space by its keys as signed integers. It reads the keys once, with
// each row's position; a radix sort orders these pairs on all streams; then each
// carried column is gathered through the sorted positions, so that it is written
// sequentially.
func (d *dev) Sort(ctx context.Context, from device.Space, spec device.TransformSpec) (device.Sorted, error) {
	s := &sorter{dev: d, src: asSpace(from), spec: spec}
	defer s.free()
	out, err := s.sort(ctx)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Keyed returns the number of rows in a sorted space whose key is not NULL.
func (s *space) Keyed() device.Count { return device.Known(int64(s.keyed)) }

// pairs are keys and the positions of their rows.
type pairs struct {
	keys []uint64
	pos  []uint32
}

type sorter struct {
	dev     *dev
	src     *space
	spec    device.TransformSpec
	buffers [2]pairs // of rows with a key that is not NULL; the first has the result
	nulls   []uint32 // positions of the rows whose key is NULL, if they are kept
	keyed   int
	inOrder bool
	repeats atomic.Bool // some keys are equal
}

func (s *sorter) free() {
	for i := range s.buffers {
		s.buffers[i].free(s.dev)
	}
	free(s.dev, s.nulls)
}

func (p *pairs) free(d *dev) {
	free(d, p.keys)
	free(d, p.pos)
	*p = pairs{}
}

func (p *pairs) alloc(d *dev, n int) (err error) {
	if p.keys, err = alloc[uint64](d, n); err != nil {
		return err
	}
	p.pos, err = alloc[uint32](d, n)
	return err
}

// blockSize returns the number of rows, of n, that one stream takes at a time.
func (s *sorter) blockSize(n int) int {
	const least, most = 1 << 15, 1 << 22
	return min(max(least, n/(s.dev.streams*16)+1), most)
}

func (s *sorter) sort(ctx context.Context) (*space, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	if s.inOrder {
		if err := s.finish(ctx, part{0, s.keyed, 0}); err != nil {
			return nil, err
		}
	} else {
		if err := s.buffers[1].alloc(s.dev, s.keyed); err != nil {
			return nil, err
		}
		if err := s.radix(ctx); err != nil {
			return nil, err
		}
		s.buffers[1].free(s.dev)
	}
	return s.space(ctx)
}

// read fills the first buffer with the keys and positions of all rows.
func (s *sorter) read(ctx context.Context) error {
	if err := s.buffers[0].alloc(s.dev, s.src.total()); err != nil {
		return err
	}
	ranges := s.src.ranges(s.dev.streams*8, 0)
	runs, at := make([]run, len(ranges)), 0
	for i, spans := range ranges {
		runs[i].from = at
		for _, p := range spans {
			at += p.n
		}
		runs[i].to = at
	}
	err := s.dev.parallel(ctx, len(ranges), func(st *stream, i int) error {
		return s.readRange(ctx, st, ranges[i], &runs[i])
	})
	if err != nil {
		return err
	}
	return s.join(ctx, runs)
}

// run is the output of one range of the input: rows with a key from the front of
// its space, rows with a NULL key from the back.
type run struct {
	from, to     int // its space
	keyed, nulls int
	disorder     bool
}

func (s *sorter) readRange(ctx context.Context, st *stream, spans []span, r *run) error {
	return st.eachRows(ctx, s.src, spans, func(in *rows) error {
		keys, sel := st.keys.compute(in, s.spec.Key, st.dev.inputs)
		first := in.slots[0].first
		to := s.pairs(part{r.from + r.keyed, r.to, 0}, 0)
		copy(to.keys, keys)
		for i := range keys {
			to.pos[i] = first + uint32(i)
		}
		if sel != nil {
			for i, row := range sel[:len(keys)] {
				to.pos[i] = first + row
			}
		}
		r.note(s.buffers[0].keys[r.from:r.to], len(keys))
		r.keyed += len(keys)
		if s.spec.KeepNulls && len(keys) < in.n {
			r.takeNulls(s.buffers[0].pos, first, sel[:len(keys)], in.n)
		}
		return nil
	})
}

// note updates the statistics with the next n keys that were written.
func (r *run) note(keys []uint64, n int) {
	for i := max(r.keyed, 1); i < r.keyed+n; i++ {
		if int64(keys[i]) < int64(keys[i-1]) {
			r.disorder = true
			return
		}
	}
}

// takeNulls writes the positions of the rows of a chunk that are not in sel.
func (r *run) takeNulls(pos []uint32, first uint32, sel []uint32, n int) {
	for i := range uint32(n) {
		if len(sel) > 0 && sel[0] == i {
			sel = sel[1:]
			continue
		}
		r.nulls++
		pos[r.to-r.nulls] = first + i
	}
}

// join moves the runs together, separates rows without a key, and finds out whether
// all keys are in order already.
func (s *sorter) join(ctx context.Context, runs []run) (err error) {
	nulls := 0
	for _, r := range runs {
		nulls += r.nulls
	}
	if nulls > 0 {
		if s.nulls, err = alloc[uint32](s.dev, nulls); err != nil {
			return err
		}
	}
	keys, pos := s.buffers[0].keys, s.buffers[0].pos
	s.inOrder, nulls = true, 0
	for _, r := range runs {
		aside := s.nulls[nulls : nulls+r.nulls]
		copy(aside, pos[r.to-r.nulls:])
		slices.Reverse(aside) // it was written from the back
		nulls += r.nulls
		if r.keyed == 0 {
			continue
		}
		s.inOrder = s.inOrder && !r.disorder && (s.keyed == 0 || int64(keys[s.keyed-1]) <= int64(keys[r.from]))
		if s.keyed < r.from { // from front to back, because the ranges may overlap
			err := inSteps(ctx, r.keyed, func(from, to int) {
				copy(keys[s.keyed+from:], keys[r.from+from:r.from+to])
				copy(pos[s.keyed+from:], pos[r.from+from:r.from+to])
			})
			if err != nil {
				return err
			}
		}
		s.keyed += r.keyed
	}
	return nil
}

// A pass orders by a digit of at most digitBits bits: a core's translation buffer
// still covers that many write positions.
const (
	digitBits = 8
	digits    = 1 << digitBits
)

// localRows is the largest part, in pairs, that one stream sorts alone: both of its
// buffers then fit the caches near the core.
const localRows = 1 << 17

// part is a subset of the pairs; no key of it occurs in another part.
type part struct {
	from, to int
	side     int // the buffer that holds it
}

// radix sorts the pairs by their keys, stably, into the first buffer. All streams
// together divide parts that are too large for a core's cache by their most
// significant digit; one stream sorts each other part from the least significant
// digit on. Digits are taken from the distance to the part's least key, so only
// differing bits are sorted by, and a part with densely clustered keys gets finer
// digits.
func (s *sorter) radix(ctx context.Context) error {
	large, local := []part{{0, s.keyed, 0}}, []part(nil)
	for len(large) > 0 {
		p := large[len(large)-1]
		large = large[:len(large)-1]
		if p.to-p.from <= localRows {
			local = append(local, p)
			continue
		}
		parts, err := s.divide(ctx, p)
		if err != nil {
			return err
		}
		large = append(large, parts...)
	}
	return s.dev.parallel(ctx, len(local), func(_ *stream, i int) error {
		return s.sortLocal(ctx, local[i])
	})
}

// pairs returns the pairs of a part in one of the buffers.
func (s *sorter) pairs(p part, side int) pairs {
	return pairs{s.buffers[side].keys[p.from:p.to], s.buffers[side].pos[p.from:p.to]}
}

// rangeOf returns the range of a part's keys.
func (s *sorter) rangeOf(ctx context.Context, p part) (all device.KeyRange, err error) {
	keys, size := s.pairs(p, p.side).keys, s.blockSize(p.to-p.from)
	blocks := make([]device.KeyRange, (len(keys)+size-1)/size)
	err = s.dev.parallel(ctx, len(blocks), func(_ *stream, i int) error {
		blocks[i] = rangeOf(keys[i*size : min((i+1)*size, len(keys))])
		return nil
	})
	for _, r := range blocks {
		all.Merge(r)
	}
	return all, err
}

// divide moves a part to the other buffer by its most significant digit: it counts
// each block, gives it space in every digit after the blocks before it, and moves
// it. A part with a single key stays in place.
func (s *sorter) divide(ctx context.Context, p part) ([]part, error) {
	r, err := s.rangeOf(ctx, p)
	if err != nil {
		return nil, err
	}
	width := bits.Len64(uint64(r.High) - uint64(r.Low))
	if width == 0 {
		return nil, s.finish(ctx, p)
	}
	by := digit{low: uint64(r.Low), shift: uint(max(width-digitBits, 0))}
	from, to := s.pairs(p, p.side), s.pairs(p, 1-p.side)
	size := s.blockSize(len(from.keys))
	counts := make([][digits]uint32, (len(from.keys)+size-1)/size)
	err = s.dev.parallel(ctx, len(counts), func(_ *stream, i int) error {
		by.count(&counts[i], from.keys[i*size:min((i+1)*size, len(from.keys))])
		return nil
	})
	if err != nil {
		return nil, err
	}
	var parts []part
	at := uint32(0)
	for d := range digits {
		first := at
		for i := range counts {
			n := counts[i][d]
			counts[i][d] = at
			at += n
		}
		if at > first {
			parts = append(parts, part{p.from + int(first), p.from + int(at), 1 - p.side})
		}
	}
	return parts, s.dev.parallel(ctx, len(counts), func(_ *stream, i int) error {
		first, end := i*size, min((i+1)*size, len(from.keys))
		by.move(to, pairs{from.keys[first:end], from.pos[first:end]}, &counts[i])
		return nil
	})
}

// sortLocal sorts a part from its least significant digit on.
func (s *sorter) sortLocal(ctx context.Context, p part) error {
	from, to := s.pairs(p, p.side), s.pairs(p, 1-p.side)
	r := rangeOf(from.keys)
	width := bits.Len64(uint64(r.High) - uint64(r.Low))
	for shift := 0; shift < width; shift += digitBits {
		by := digit{low: uint64(r.Low), shift: uint(shift)}
		var places [digits]uint32
		by.count(&places, from.keys)
		if places[by.of(from.keys[0])] == uint32(len(from.keys)) {
			continue
		}
		at := uint32(0)
		for d, n := range places {
			places[d] = at
			at += n
		}
		by.move(to, from, &places)
		from, to = to, from
		p.side = 1 - p.side
	}
	return s.finish(ctx, p)
}

// finish moves a sorted part to the first buffer and notes whether keys repeat.
func (s *sorter) finish(ctx context.Context, p part) error {
	done, now := s.pairs(p, 0), s.pairs(p, p.side)
	return inSteps(ctx, len(done.keys), func(from, to int) {
		if p.side != 0 {
			copy(done.keys[from:to], now.keys[from:to])
			copy(done.pos[from:to], now.pos[from:to])
		}
		if !s.repeats.Load() && hasRepeats(done.keys[max(from-1, 0):to]) {
			s.repeats.Store(true)
		}
	})
}

// hasRepeats reports whether two adjacent keys are equal.
func hasRepeats(keys []uint64) bool {
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			return true
		}
	}
	return false
}

// digit is the sort key of a pass: some bits of the distance to a least key.
type digit struct {
	low   uint64
	shift uint
}

func (d digit) of(key uint64) uint64 { return (key - d.low) >> (d.shift & 63) % digits }

func (d digit) count(places *[digits]uint32, keys []uint64) {
	for _, k := range keys {
		places[d.of(k)]++
	}
}

// move writes pairs to the places of their digits, in order.
func (d digit) move(to, from pairs, places *[digits]uint32) {
	pos, toPos := from.pos[:len(from.keys)], to.pos[:len(to.keys)]
	for i, k := range from.keys {
		at := places[d.of(k)]
		places[d.of(k)] = at + 1
		to.keys[at] = k
		toPos[at] = pos[i]
	}
}

// space makes the sorted space: the keys, payload gathered through the positions,
// then the rows whose key is NULL.
func (s *sorter) space(ctx context.Context) (*space, error) {
	out := &space{dev: s.dev, input: -1, shift: 32, key: s.spec.Key, keyed: s.keyed, repeats: s.repeats.Load()}
	out.rows = []int{s.keyed + len(s.nulls)}
	out.ownKeys(s.buffers[0].keys)
	s.buffers[0].keys = nil
	if err := s.fill(ctx, out); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

func (s *sorter) fill(ctx context.Context, out *space) error {
	p := payload{rowIDs: s.spec.RowIDs, columns: s.spec.Carry}
	if err := p.allocate(out, out.rows[0], s.spec.KeepNulls); err != nil {
		return err
	}
	if err := s.gather(ctx, &p, s.buffers[0].pos[:s.keyed], 0); err != nil {
		return err
	}
	return s.gather(ctx, &p, s.nulls, s.keyed)
}

// gather gathers the payload of the rows at positions pos into the rows from `at` on.
func (s *sorter) gather(ctx context.Context, p *payload, pos []uint32, at int) error {
	size := s.blockSize(len(pos))
	return s.dev.parallel(ctx, (len(pos)+size-1)/size, func(st *stream, i int) error {
		to := min((i+1)*size, len(pos))
		for n := i * size; n < to; n += st.dev.chunk {
			if err := st.yield(ctx); err != nil {
				return err
			}
			p.gather(st, st.rowsAt(s.src, pos[n:min(n+st.dev.chunk, to)]), at+n)
		}
		return nil
	})
}

// rowsAt returns the rows at some positions of a space.
func (st *stream) rowsAt(s *space, pos []uint32) *rows {
	st.scan.reset(len(pos))
	st.scan.slots = append(st.scan.slots, slot{space: s, pos: pos})
	return st.scan
}
