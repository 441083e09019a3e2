//go:build amd64 || arm64

package cpu

import (
	"context"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Partition is a stable radix partition in two passes over ranges of the
// input: count, then move. Each range owns its share of every partition, so
// that streams never write to the same place.
func (d *dev) Partition(ctx context.Context, from device.Space, spec device.PartitionSpec) (device.Partitions, error) {
	src := asSpace(from)
	ranges := src.ranges(d.streams * 8)
	total := src.total()
	p := &partitioner{
		spec: spec, src: src, parts: 1<<spec.Bits + 1,
		shift: 64 - uint(spec.Bits), counts: make([][]uint32, len(ranges)),
	}
	if err := d.parallel(ctx, len(ranges), func(st *stream, i int) error {
		p.counts[i] = make([]uint32, p.parts)
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

// errChanged: somebody wrote to an input between the two passes.
var errChanged = fmt.Errorf("input changed while it was read: %w", joincore.ErrInvalid)

func (s *space) Bounds(context.Context) ([]int64, error) { return s.bounds, nil }

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
	counts [][]uint32 // a range's rows of each partition, then where its next one goes
	ends   [][]uint32 // where a range's place in each partition ends
	keys   []uint64
	ids    []*column
	carry  []*column
}

// eachChunk calls f for all rows of a range.
func (p *partitioner) eachChunk(ctx context.Context, st *stream, spans []span, f func(r *rows, keys []uint64, sel []uint32)) error {
	for _, s := range spans {
		for at := 0; at < s.n; at += st.dev.chunk {
			if ctx.Err() != nil {
				return context.Cause(ctx)
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

// offsets turns counts into where each range begins in each partition, and
// returns where each partition begins.
func (p *partitioner) offsets() []int64 {
	bounds := make([]int64, p.parts+1)
	for range p.counts {
		p.ends = append(p.ends, make([]uint32, p.parts))
	}
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

// complete says whether every range filled its places exactly.
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
	d := out.dev
	keys, err := alloc[uint64](d, n)
	if err != nil {
		return err
	}
	out.release = append(out.release, func() { free(d, keys) })
	p.keys = keys
	out.keys = &column{kind: joincore.Fixed, width: 8, v64: [][]uint64{keys}}
	out.ids = map[int]*column{}
	for _, input := range p.spec.RowIDs {
		c, err := out.newColumn(n, 4)
		if err != nil {
			return err
		}
		out.ids[input] = c
		p.ids = append(p.ids, c)
	}
	out.carried = map[joincore.ColumnRef]*column{}
	for _, ref := range p.spec.Carry {
		base := d.inputs[ref.Input].columns[ref.Column]
		if base.kind != joincore.Fixed {
			return fmt.Errorf("moving a column of variable length: %w", joincore.ErrUnsupported)
		}
		c, err := out.newColumn(n, base.width)
		if err != nil {
			return err
		}
		if base.nullable() {
			flags, err := out.newColumn(n, 1)
			if err != nil {
				return err
			}
			c.flags = flags.v8
		}
		out.carried[ref] = c
		p.carry = append(p.carry, c)
	}
	return nil
}

// newColumn allocates a column of one segment that the space owns.
func (s *space) newColumn(n, width int) (*column, error) {
	b, err := alloc[uint8](s.dev, n*width)
	if err != nil {
		return nil, err
	}
	s.release = append(s.release, func() { free(s.dev, b) })
	c := &column{kind: joincore.Fixed, width: width}
	c.addSegment(b)
	return c, nil
}

// move writes the rows of a range to their partitions, a column at a time
// within each chunk.
func (p *partitioner) move(ctx context.Context, st *stream, spans []span, next []uint32) error {
	seed, shift, nulls := st.dev.seed, p.shift, uint32(p.parts-1)
	inputs := st.dev.inputs
	return p.eachChunk(ctx, st, spans, func(r *rows, keys []uint64, sel []uint32) {
		to := st.to[:len(keys)]
		for i, k := range keys {
			part := mix(k^seed) >> shift
			to[i] = next[part]
			next[part]++
		}
		for i, k := range keys {
			p.keys[to[i]] = k
		}
		to, sel = p.withNulls(st, r, to, sel, nulls, next)
		for i, input := range p.spec.RowIDs {
			s, ok := r.positionsOf(input, inputs)
			moveIDs(p.ids[i].v32[0], to, s, ok, sel)
		}
		for i, ref := range p.spec.Carry {
			c, s := r.locate(ref, inputs)
			st.moveColumn(p.carry[i], to, sel, c, s, r.n)
		}
	})
}

// withNulls adds the rows whose key is NULL, where they are kept.
func (p *partitioner) withNulls(st *stream, r *rows, to, sel []uint32, nulls uint32, next []uint32) ([]uint32, []uint32) {
	if !p.spec.KeepNulls || len(to) == r.n {
		return to, sel
	}
	all := st.sel[:0]
	all = append(all, sel...)
	missing := uint32(0)
	for i := range uint32(r.n) {
		if int(i-missing) < len(sel) && sel[i-missing] == i {
			continue
		}
		missing++
		all = append(all, i)
		p.keys[next[nulls]] = 0
		to = append(to, next[nulls])
		next[nulls]++
	}
	return to, all
}

func moveIDs(dst []uint32, to []uint32, s *slot, ok bool, sel []uint32) {
	for i, t := range to {
		row := uint32(i)
		if sel != nil {
			row = sel[i]
		}
		switch {
		case !ok:
			dst[t] = none
		case s.pos == nil:
			dst[t] = s.first + row
		default:
			dst[t] = s.pos[row]
		}
	}
}

func (st *stream) moveColumn(dst *column, to, sel []uint32, c *column, s *slot, n int) {
	switch {
	case c.width == 1:
		move(dst.v8[0], to, sel, current(st.v8[:n], c.v8, s))
	case c.width == 2:
		move(dst.v16[0], to, sel, current(st.v16[:n], c.v16, s))
	case c.width == 4:
		move(dst.v32[0], to, sel, current(st.v32[:n], c.v32, s))
	case c.width == 8:
		move(dst.v64[0], to, sel, current(st.v64[:n], c.v64, s))
	default:
		moveWide(dst.v64[0], c.width/8, to, sel, c, s)
	}
	if dst.flags != nil {
		null := st.v8[:n]
		clear(null)
		fetchNulls(null, c, s)
		for i := range null {
			null[i] ^= 1
		}
		move(dst.flags[0], to, sel, null)
	}
}

// current returns the values of a chunk: in place where they are adjacent.
func current[T word](scratch []T, src [][]T, s *slot) []T {
	if s.pos == nil {
		from := int(s.first & s.space.mask())
		return src[s.segment()][from : from+len(scratch)]
	}
	fetch(scratch, src, s, 0)
	return scratch
}

func move[T word](dst []T, to, sel []uint32, src []T) {
	if sel == nil {
		src = src[:len(to)]
		for i, t := range to {
			dst[t] = src[i]
		}
		return
	}
	sel = sel[:len(to)]
	for i, t := range to {
		dst[t] = src[sel[i]]
	}
}

func moveWide(dst []uint64, words int, to, sel []uint32, c *column, s *slot) {
	for i, t := range to {
		row := i
		if sel != nil {
			row = int(sel[i])
		}
		segment, at, ok := s.at(row)
		value := dst[int(t)*words : (int(t)+1)*words]
		if !ok {
			clear(value)
			continue
		}
		copy(value, c.v64[segment][int(at)*words:(int(at)+1)*words])
	}
}
