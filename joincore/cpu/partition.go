package cpu

import (
	"context"
	"fmt"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Partition is a stable radix partition in two passes over ranges of the input:
// count, then move.
func (d *dev) Partition(ctx context.Context, from device.Space, spec device.TransformSpec) (device.Partitions, error) {
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

// move writes the rows to their partitions, chunk by chunk and column by column.
func (p *partitioner) move(ctx context.Context) error {
	columns := 1 + len(p.ids)
	for _, c := range p.carry {
		columns++
		if c.flags != nil {
			columns++
		}
	}
	return p.division.move(ctx, columns, func(w *writer) func(*stream, *moved) {
		var rest []func(*stream, *moved)
		for i := range p.ids {
			rest = append(rest, p.moveIDs(w, i))
		}
		with := p.withKeys()
		put := p.moveKeys(w, with)
		for i := range p.carry {
			if i != with {
				rest = append(rest, p.moveColumn(w, i))
			}
		}
		return func(st *stream, m *moved) {
			put(st, m)
			for _, put := range rest {
				put(st, m)
			}
		}
	})
}

// withKeys returns the column that is written together with the keys; -1: none.
func (p *partitioner) withKeys() int {
	return slices.IndexFunc(p.carry, func(c *column) bool { return c.width == 8 && c.flags == nil })
}

// moveKeys returns what writes the keys and, unless it is -1, the column with.
func (p *partitioner) moveKeys(w *writer, with int) func(*stream, *moved) {
	keys := linesTo(w, p.keys)
	if with < 0 {
		return func(_ *stream, m *moved) { keys.put(w, m.keys) }
	}
	ref, to := p.refs[with], linesTo(w, p.carry[with].v64[0])
	return func(st *stream, m *moved) {
		c, s := m.locate(ref, st.dev.inputs)
		v := st.second[:m.n] // the keys may be in v64 or first
		putBoth(w, keys, to, m.keys, pick(v, current(v, c.v64, s), m.sel))
	}
}

// moveIDs returns what writes the row ids of an input.
func (p *partitioner) moveIDs(w *writer, i int) func(*stream, *moved) {
	input, dst := p.rowIDs[i], linesTo(w, p.ids[i].v32[0])
	return func(st *stream, m *moved) {
		ids := st.v32[:m.n]
		m.copyIDs(ids, input, 0, st.dev.inputs)
		dst.put(w, pick(ids, ids, m.sel))
	}
}

// moveColumn returns what writes a column.
func (p *partitioner) moveColumn(w *writer, i int) func(*stream, *moved) {
	dst, ref := p.carry[i], p.refs[i]
	var put func(st *stream, m *moved, c *column, s *slot)
	switch dst.width {
	case 1:
		put = moveValues(w, dst.v8, func(st *stream) []uint8 { return st.v8 }, func(c *column) [][]uint8 { return c.v8 })
	case 2:
		put = moveValues(w, dst.v16, func(st *stream) []uint16 { return st.v16 }, func(c *column) [][]uint16 { return c.v16 })
	case 4:
		put = moveValues(w, dst.v32, func(st *stream) []uint32 { return st.v32 }, func(c *column) [][]uint32 { return c.v32 })
	case 8:
		put = moveValues(w, dst.v64, func(st *stream) []uint64 { return st.v64 }, func(c *column) [][]uint64 { return c.v64 })
	default:
		put = func(_ *stream, m *moved, c *column, s *slot) { moveWide(dst.v64[0], c.width/8, w.to, m, c, s) }
	}
	if dst.flags == nil {
		return func(st *stream, m *moved) {
			c, s := m.locate(ref, st.dev.inputs)
			put(st, m, c, s)
		}
	}
	flags := linesTo(w, dst.flags[0])
	return func(st *stream, m *moved) {
		c, s := m.locate(ref, st.dev.inputs)
		put(st, m, c, s)
		valid := st.v8[:m.n]
		fetchValid(valid, c, s)
		flags.put(w, pick(valid, valid, m.sel))
	}
}

// moveValues returns what writes the values of one width. scratch is the stream's.
func moveValues[T word](w *writer, dst [][]T, scratch func(*stream) []T, values func(*column) [][]T) func(*stream, *moved, *column, *slot) {
	to := linesTo(w, dst[0])
	return func(st *stream, m *moved, c *column, s *slot) {
		v := scratch(st)[:m.n]
		to.put(w, pick(v, current(v, values(c), s), m.sel))
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

// pick returns the selected values in scratch, which may be src, or src if all are.
func pick[T word](scratch, src []T, sel []uint32) []T {
	if sel == nil {
		return src
	}
	scratch = scratch[:len(sel)]
	for i, row := range sel {
		scratch[i] = src[row]
	}
	return scratch
}

func moveWide(dst []uint64, words int, to []uint32, m *moved, c *column, s *slot) {
	for i := range m.of {
		row := i
		if m.sel != nil {
			row = int(m.sel[i])
		}
		segment, at, ok := s.at(row)
		value := dst[int(to[i])*words : (int(to[i])+1)*words]
		if !ok {
			clear(value)
			continue
		}
		copy(value, c.v64[segment][int(at)*words:(int(at)+1)*words])
	}
}

// payload is the data that moves with the keys when a space is transformed.
type payload struct {
	rowIDs  []int                // inputs whose row ids are moved
	columns []joincore.ColumnRef // columns that are moved
	ids     []*column            // destination of each of rowIDs
	carry   []*column            // destination of each of refs
	refs    []joincore.ColumnRef // columns without the key itself
}

// allocate allocates n rows of payload in out, whose keys exist already.
func (p *payload) allocate(out *space, n int, keepNulls bool) error {
	out.ids = map[int]*column{}
	for _, input := range p.rowIDs {
		c, err := out.ownColumn(n, 4)
		if err != nil {
			return err
		}
		out.ids[input] = c
		p.ids = append(p.ids, c)
	}
	out.carried = map[joincore.ColumnRef]*column{}
	for _, ref := range p.columns {
		base := out.dev.inputs[ref.Input].columns[ref.Column]
		if out.isKey(ref, base) && !keepNulls {
			out.carried[ref] = out.keys
			continue
		}
		if base.kind != joincore.Fixed {
			return fmt.Errorf("moving a column of variable length: %w", joincore.ErrUnsupported)
		}
		c, err := out.ownColumn(n, base.width)
		if err != nil {
			return err
		}
		if base.nullable() {
			flags, err := out.ownColumn(n, 1)
			if err != nil {
				return err
			}
			c.flags = flags.v8
		}
		out.carried[ref] = c
		p.carry = append(p.carry, c)
		p.refs = append(p.refs, ref)
	}
	return nil
}

// isKey reports whether a column is the unchanged key, which is moved already.
func (s *space) isKey(ref joincore.ColumnRef, c *column) bool {
	k := s.key
	return k.Exact && len(k.Parts) == 1 && k.Parts[0].Column == ref && c.width == 8
}

// ownColumn allocates a column of one segment that the space owns.
func (s *space) ownColumn(n, width int) (*column, error) {
	c := &column{kind: joincore.Fixed, width: width}
	return c, s.addBlock(c, n)
}

// gather writes the payload of the rows r to the rows from `at` on of the space that
// it was allocated for.
func (p *payload) gather(st *stream, r *rows, at int) {
	inputs := st.dev.inputs
	for i, input := range p.rowIDs {
		r.copyIDs(p.ids[i].v32[0][at:at+r.n], input, 0, inputs)
	}
	for i, ref := range p.refs {
		c, s := r.locate(ref, inputs)
		dst := p.carry[i]
		fetchTo(dst, at, r.n, c, s)
		if dst.flags != nil {
			fetchValid(dst.flags[0][at:at+r.n], c, s)
		}
	}
}
