package cpu

import (
	"context"
	"math/bits"

	"gpujoin/joincore/device"
)

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
