package cpu

import (
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// groupWriter writes groups to blocks of the result, each of which is a segment
// of its own.
type groupWriter struct {
	a       *aggregation
	segment int
	rows    int   // in the block
	size    int   // 0: there is no block
	used    []int // of each column's heap
}

// newDerived makes the space of a result, without rows yet.
func newDerived(d *dev, spec *device.AggregateSpec) *space {
	s := &space{dev: d, input: spec.ID, shift: blockShift}
	for i, described := range spec.Columns {
		c := newColumn(described)
		f := i - len(spec.Keys) - len(spec.Carry)
		if f < 0 || spec.Functions[f].Kind != joincore.Count {
			c.flags = [][]uint8{}
		}
		s.columns = append(s.columns, c)
	}
	return s
}

// write writes groups [from, to) of a table.
func (w *groupWriter) write(t *groupTable, from, to int) error {
	w.a.groups.Add(int64(to - from))
	for from < to {
		if w.rows == w.size {
			if err := w.open(to - from); err != nil {
				return err
			}
		}
		n := min(to-from, w.size-w.rows)
		if err := w.fill(t, from, n); err != nil {
			return err
		}
		w.rows, from = w.rows+n, from+n
		w.a.lock.Lock()
		w.a.out.rows[w.segment] = w.rows
		w.a.lock.Unlock()
	}
	return nil
}

// open begins a block for at least n rows, up to the maximum of a block.
func (w *groupWriter) open(n int) error {
	s, m := w.a.out, w.a.plan.memory
	w.size = min(max((n+rowUnit-1)/rowUnit*rowUnit, 2*w.size), blockRows)
	w.rows = 0
	w.a.lock.Lock()
	defer w.a.lock.Unlock()
	if len(s.rows) >= 1<<(32-blockShift)-1 {
		return errTooMany
	}
	segment := len(s.rows)
	w.segment = segment
	w.used = make([]int, len(s.columns))
	for _, c := range s.columns {
		values := w.size
		if c.kind == joincore.Varlena {
			values++
			c.heap = append(c.heap, nil)
			s.release = append(s.release, func() { m.Free(c.heap[segment]) })
		}
		b, err := m.Alloc(int64(values * c.width))
		if err != nil {
			return err
		}
		s.release = append(s.release, func() { m.Free(b) })
		c.addSegment(b)
		if c.kind == joincore.Varlena {
			clear(b[:c.width])
		}
		if c.flags == nil {
			continue
		}
		flags, err := m.Alloc(int64(w.size))
		if err != nil {
			return err
		}
		s.release = append(s.release, func() { m.Free(flags) })
		c.flags = append(c.flags, flags)
	}
	s.rows = append(s.rows, 0)
	return nil
}

// target is a column of the block that is written.
type target struct {
	*column
	at    int // the first row
	flags []uint8
}

// fill writes n groups behind the rows of the block.
func (w *groupWriter) fill(t *groupTable, from, n int) error {
	p := t.plan
	for i := range p.keys {
		if err := w.key(t, i, from, n); err != nil {
			return err
		}
	}
	for i, ref := range p.spec.Carry {
		ids := t.c32[p.lengths+p.spans+p.carried[i]][from : from+n]
		if err := w.carry(len(p.keys)+i, ref, ids); err != nil {
			return err
		}
	}
	for i := range p.functions {
		if err := w.function(t, &p.functions[i], from, n); err != nil {
			return err
		}
	}
	return nil
}

// column returns a column of the block.
func (w *groupWriter) column(i, n int) target {
	w.a.lock.Lock()
	defer w.a.lock.Unlock()
	c := w.a.out.columns[i]
	// Other writers append segments: what this one needs is copied.
	own := &column{kind: c.kind, width: c.width, align: c.align}
	switch c.width {
	case 1:
		own.v8 = c.v8[w.segment : w.segment+1]
	case 2:
		own.v16 = c.v16[w.segment : w.segment+1]
	case 4:
		own.v32 = c.v32[w.segment : w.segment+1]
	default:
		own.v64 = c.v64[w.segment : w.segment+1]
	}
	out := target{column: own, at: w.rows}
	if c.kind == joincore.Varlena {
		own.heap = c.heap[w.segment : w.segment+1]
	}
	if c.flags != nil {
		out.flags = c.flags[w.segment][w.rows : w.rows+n]
	}
	return out
}

// put writes an integer of the column's width.
func (c *target) put(row int, v uint64) {
	switch at := c.at + row; c.width {
	case 1:
		c.v8[0][at] = uint8(v)
	case 2:
		c.v16[0][at] = uint16(v)
	case 4:
		c.v32[0][at] = uint32(v)
	default:
		c.v64[0][at] = v
	}
}

func (w *groupWriter) key(t *groupTable, i, from, n int) error {
	p := t.plan
	part, out := &p.keys[i], w.column(i, n)
	if part.span >= 0 {
		null := t.c64[len(p.keys)+i/64][from : from+n]
		for j := range n {
			out.flags[j] = 1 - uint8(null[j]>>(i%64))&1
			if err := w.bytes(i, &out, j, t.span(from+j, part.span), !part.raw); err != nil {
				return err
			}
		}
		return nil
	}
	if !p.exact {
		null := t.c64[len(p.keys)+i/64][from : from+n]
		for j, v := range t.c64[i][from : from+n] {
			out.flags[j] = 1 - uint8(null[j]>>(i%64))&1
			out.put(j, v)
		}
		return nil
	}
	tags := t.c32[0][from : from+n]
	for j, v := range t.c64[0][from : from+n] {
		out.flags[j] = 1 - uint8(tags[j]>>i)&1
		out.put(j, v>>part.shift)
	}
	return nil
}

// bytes writes the bytes of a row: to a column of variable length as a value
// with a header (joincore.PutText), where payload says that they have none, or to a wide one.
func (w *groupWriter) bytes(i int, out *target, row int, b []byte, payload bool) error {
	if out.kind == joincore.Fixed {
		words := out.width / 8
		value := out.v64[0][(out.at+row)*words : (out.at+row+1)*words]
		clear(value)
		copy(view[byte](value), b)
		return nil
	}
	valid := out.flags[row] != 0
	size := 0
	if valid {
		size = padded(len(b), out.align)
		if payload {
			size = joincore.TextSize(len(b), out.align)
		}
	}
	if err := w.grow(i, out, size); err != nil {
		return err
	}
	used := w.used[i]
	to := out.heap[0][used : used+size]
	switch {
	case !valid:
	case payload:
		joincore.PutText(to, b)
	default:
		clear(to[copy(to, b):])
	}
	w.used[i] = used + size
	out.v32[0][out.at+row+1] = uint32(w.used[i])
	return nil
}

// grow makes space in a heap of the block.
func (w *groupWriter) grow(i int, out *target, size int) error {
	old := out.heap[0]
	if len(old)-w.used[i] >= size {
		return nil
	}
	if w.used[i]+size > maxHeap {
		return errTooMany
	}
	s, m := w.a.out, w.a.plan.memory
	heap, err := m.Alloc(int64(max(2*len(old), w.used[i]+size, 16*w.size)))
	if err != nil {
		return err
	}
	copy(heap, old[:w.used[i]])
	m.Free(old)
	w.a.lock.Lock()
	s.columns[i].heap[w.segment] = heap
	w.a.lock.Unlock()
	out.heap = [][]byte{heap}
	return nil
}

// maxHeap is how many bytes offsets reach.
const maxHeap = 1<<32 - 1

// carry writes the values that a column has in the rows of an input.
func (w *groupWriter) carry(i int, ref joincore.ColumnRef, ids []uint32) error {
	out := w.column(i, len(ids))
	from := w.a.dev.inputs[ref.Input]
	c := from.columns[ref.Column]
	s := &slot{space: from, pos: ids, null: slices.Contains(ids, none)}
	valid := out.flags
	fetchValid(valid, c, s)
	if c.kind == joincore.Varlena {
		for j := range ids {
			var b []byte
			if segment, row, ok := s.at(j); ok && valid[j] != 0 {
				b = c.varlena(segment, row)
			}
			if err := w.bytes(i, &out, j, b, false); err != nil {
				return err
			}
		}
		return nil
	}
	fetchTo(out.column, out.at, len(ids), c, s)
	return nil
}

// function writes the results of a function.
func (w *groupWriter) function(t *groupTable, f *function, from, n int) error {
	out := w.column(f.out, n)
	for j := range n {
		g := from + j
		values := t.values(f, g)
		if f.kind == joincore.Count {
			out.put(j, values)
			continue
		}
		out.flags[j] = uint8(min(values, 1))
		if f.bytes {
			var b []byte
			if values > 0 {
				b = t.kept(f, g)
			}
			if err := w.bytes(f.out, &out, j, b, true); err != nil {
				return err
			}
			continue
		}
		if isFloatSum(f.kind) {
			if err := w.float(t, f, g, &out, j); err != nil {
				return err
			}
			continue
		}
		if words := out.width / 8; words > 1 {
			t.result(f, g, out.v64[0][words*(out.at+j):][:words])
		} else {
			out.put(j, t.c64[f.state][g])
		}
	}
	return nil
}

// float writes the result of a sum of floats.
func (w *groupWriter) float(t *groupTable, f *function, g int, out *target, row int) error {
	values := t.values(f, g)
	if values == 0 {
		out.put(row, 0)
		return nil
	}
	var state [floatWords]uint64
	for i := range state {
		state[i] = t.c64[f.state+i][g]
	}
	order, err := floatResult(f.kind, &state, values)
	if err != nil {
		return err
	}
	out.put(row, order)
	return nil
}

// values returns how many values a function has seen in a group.
func (t *groupTable) values(f *function, g int) uint64 {
	switch {
	case f.argument < 0:
		return t.c64[t.plan.rows][g]
	case f.distinct:
		return t.c64[t.plan.skipped+f.argument][g]
	}
	return t.c64[t.plan.rows][g] - t.c64[t.plan.skipped+f.argument][g]
}

// result writes the words of a function's result.
func (t *groupTable) result(f *function, g int, out []uint64) {
	for i := range out {
		out[i] = t.c64[f.state+i][g]
	}
	if f.kind == joincore.Sum && !f.wide { // low is a signed number of its own
		out[1] += uint64(int64(out[0]) >> 63)
	}
}
