package cpu

import (
	"context"
	"slices"
	"sync/atomic"

	"gpujoin/joincore/device"
)

// Sort orders a space by its keys as signed integers. It reads the keys once, with
// each row's position; a radix sort orders these pairs on all streams; then each
// carried column is gathered through the sorted positions, so that it is written
// sequentially.
func (d *dev) Sort(ctx context.Context, from device.Space, spec device.SortSpec) (device.Sorted, error) {
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
	spec    device.SortSpec
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
	for _, p := range spans {
		for at := 0; at < p.n; at += st.dev.chunk {
			if err := st.yield(ctx); err != nil {
				return err
			}
			in := st.scanRows(s.src, p.segment, p.first+at, min(st.dev.chunk, p.n-at))
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
		}
	}
	return nil
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
