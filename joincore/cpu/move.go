//go:build amd64 || arm64

package cpu

import "context"

// move writes the rows of a range to their partitions, chunk by chunk and column by
// column.
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
		for i, ref := range p.refs {
			c, s := r.locate(ref, inputs)
			st.moveColumn(p.carry[i], to, sel, c, s, r.n)
		}
	})
}

// withNulls adds the rows whose key is NULL, if they are kept.
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

// current returns the values of a chunk without a copy if they are adjacent.
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
