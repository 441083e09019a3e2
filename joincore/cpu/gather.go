package cpu

import (
	"encoding/binary"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

var errTooMany = fmt.Errorf("more rows than row ids can address: %w", joincore.ErrUnsupported)

// Gather writes columns of variable length first: they determine how many rows fit.
func (st *stream) Gather(r device.Rows, from int, columns []joincore.ColumnRef, dst *joincore.Batch, at int, heap []int) device.Count {
	in := st.part(r.(*rows), from, dst.Rows-at)
	n := in.n
	for i, ref := range columns {
		if c, s := in.locate(ref, st.dev.inputs); c != nil && c.kind == joincore.Varlena {
			n = min(n, writeVarlena(&dst.Columns[i], at, heap[i], c, s, n))
		} else if c == nil && st.dev.kindOf(ref) == joincore.Varlena {
			writeEmpty(&dst.Columns[i], at, n, heap[i])
		}
	}
	for i, ref := range columns {
		v := &dst.Columns[i]
		c, s := in.locate(ref, st.dev.inputs)
		if st.dev.kindOf(ref) == joincore.Varlena {
			heap[i] = int(binary.LittleEndian.Uint32(v.Values[4*(at+n):]))
		} else if c != nil {
			writeFixed(v, at, n, c, s)
		} else {
			width := st.dev.inputs[ref.Input].columns[ref.Column].width
			clear(v.Values[at*width : (at+n)*width])
		}
		st.writeValidity(v, at, n, c, s)
	}
	return device.Known(int64(n))
}

func (d *dev) kindOf(ref joincore.ColumnRef) joincore.ColumnKind {
	return d.inputs[ref.Input].columns[ref.Column].kind
}

// part returns rows [from, from+most) of a chunk, without copying positions.
func (st *stream) part(r *rows, from, most int) *rows {
	n := min(r.n-from, most)
	if from == 0 && n == r.n {
		return r
	}
	out := st.rest
	out.reset(n)
	for _, s := range r.slots {
		if s.pos == nil {
			s.first += uint32(from)
		} else {
			s.pos = s.pos[from : from+n]
		}
		out.slots = append(out.slots, s)
	}
	return out
}

func writeFixed(v *joincore.Vector, at, n int, c *column, s *slot) {
	values := v.Values[at*c.width : (at+n)*c.width]
	switch c.width {
	case 1:
		fetch(view[uint8](values), c.v8, s, 0)
	case 2:
		fetch(view[uint16](values), c.v16, s, 0)
	case 4:
		fetch(view[uint32](values), c.v32, s, 0)
	case 8:
		fetch(view[uint64](values), c.v64, s, 0)
	default:
		fetchWide(view[uint64](values), c.v64, c.width/8, s, n)
	}
}

// writeValidity clears the bits of rows that are NULL; they start all ones.
func (st *stream) writeValidity(v *joincore.Vector, at, n int, c *column, s *slot) {
	null := st.v8[:n]
	if c != nil {
		if !c.nullable() && !s.null {
			return
		}
		clear(null)
		if !fetchNulls(null, c, s) {
			return
		}
	}
	for i, x := range null {
		if x != 0 || c == nil {
			v.Validity[(at+i)/8] &^= 1 << ((at + i) % 8)
		}
	}
}

// writeVarlena copies values until the heap is full and returns their number. It
// reads every offset once and pads each value to the column's alignment, so that the
// next value is aligned whatever the input contains.
func writeVarlena(v *joincore.Vector, at, used int, c *column, s *slot, n int) int {
	offsets := view[uint32](v.Values)
	offsets[at] = uint32(used)
	for i := range n {
		if segment, row, ok := s.at(i); ok && c.valid(segment, row) {
			value := c.varlena(segment, row)
			padded := padded(len(value), c.align)
			if padded > len(v.Heap)-used {
				return i
			}
			copy(v.Heap[used:], value)
			clear(v.Heap[used+len(value) : used+padded])
			used += padded
		}
		offsets[at+i+1] = uint32(used)
	}
	return n
}

func padded(n, align int) int { return (n + align - 1) / align * align }

func writeEmpty(v *joincore.Vector, at, n, used int) {
	for i := range n + 1 {
		binary.LittleEndian.PutUint32(v.Values[4*(at+i):], uint32(used))
	}
}

// Measure returns the heap bytes of one row.
func (st *stream) Measure(r device.Rows, row int, columns []joincore.ColumnRef, heap []int) device.Count {
	in := st.part(r.(*rows), row, 1)
	for i, ref := range columns {
		heap[i] = 0
		c, s := in.locate(ref, st.dev.inputs)
		if c == nil || c.kind != joincore.Varlena {
			continue
		}
		if segment, at, ok := s.at(0); ok && c.valid(segment, at) {
			heap[i] = padded(len(c.varlena(segment, at)), c.align)
		}
	}
	return device.Known(int64(len(columns)))
}

// fetch gathers one value per row of a slot; missing rows read as other.
func fetch[T word](dst []T, src [][]T, s *slot, other T) {
	mask, shift := s.space.mask(), s.space.shift
	if s.pos == nil {
		from := int(s.first & mask)
		copy(dst, src[s.segment()][from:from+len(dst)])
		return
	}
	pos := s.pos[:len(dst)]
	switch {
	case s.null:
		for i, p := range pos {
			if p == none {
				dst[i] = other
			} else {
				dst[i] = src[p>>shift][p&mask]
			}
		}
	case s.rising:
		fetchRising(dst, src[s.segment()], pos, mask)
	case s.one:
		one := src[s.segment()]
		for i, p := range pos {
			dst[i] = one[p&mask]
		}
	case len(src) == 1:
		one := src[0]
		for i, p := range pos {
			dst[i] = one[p]
		}
	default:
		for i, p := range pos {
			dst[i] = src[p>>shift][p&mask]
		}
	}
}

// fetchRising gathers values at rising positions in one segment. Of rows that pass a filter,
// often most follow each other: eight of these are copied at once.
func fetchRising[T word](dst, src []T, pos []uint32, mask uint32) {
	dst = dst[:len(pos)]
	i := 0
	for ; i+8 <= len(pos); i += 8 {
		p, to := (*[8]uint32)(pos[i:]), (*[8]T)(dst[i:])
		if p[7]-p[0] == 7 { // an assignment of arrays that may overlap would be a call
			from := (*[8]T)(src[p[0]&mask:])
			to[0], to[1], to[2], to[3] = from[0], from[1], from[2], from[3]
			to[4], to[5], to[6], to[7] = from[4], from[5], from[6], from[7]
			continue
		}
		for j, at := range p {
			to[j] = src[at&mask]
		}
	}
	for ; i < len(pos); i++ {
		dst[i] = src[pos[i]&mask]
	}
}

// fetchWide gathers values of several words; missing rows read as zeros.
func fetchWide(dst []uint64, src [][]uint64, words int, s *slot, n int) {
	for i := range n {
		to := dst[i*words : (i+1)*words]
		segment, row, ok := s.at(i)
		if !ok {
			clear(to)
			continue
		}
		from := int(row) * words
		copy(to, src[segment][from:from+words])
	}
}

// fetchTo gathers the n values of a slot into rows from `at` on of dst, a column of one
// segment and of the same width; missing rows read as zeros.
func fetchTo(dst *column, at, n int, c *column, s *slot) {
	switch c.width {
	case 1:
		fetch(dst.v8[0][at:at+n], c.v8, s, 0)
	case 2:
		fetch(dst.v16[0][at:at+n], c.v16, s, 0)
	case 4:
		fetch(dst.v32[0][at:at+n], c.v32, s, 0)
	case 8:
		fetch(dst.v64[0][at:at+n], c.v64, s, 0)
	default:
		words := c.width / 8
		fetchWide(dst.v64[0][at*words:(at+n)*words], c.v64, words, s, n)
	}
}

// fetchInts reads a column of width 1, 2, 4 or 8 as signed integers. For NULLs it
// writes unspecified values.
func (st *stream) fetchInts(dst []uint64, c *column, s *slot) {
	switch n := len(dst); c.width {
	case 1:
		widen[int8](dst, st.v8[:n], c.v8, s)
	case 2:
		widen[int16](dst, st.v16[:n], c.v16, s)
	case 4:
		widen[int32](dst, st.v32[:n], c.v32, s)
	default:
		fetch(dst, c.v64, s, 0)
	}
}

// inPlace returns the values of n rows that follow each other, in memory that belongs to the
// column; nil: they have to be fetched, because they are not of 64 bits, not next to each other,
// or some may be NULL.
func (c *column) inPlace(s *slot, n int) []uint64 {
	if c == nil || c.width != 8 || s.pos != nil || s.null || c.flags != nil {
		return nil
	}
	segment := s.segment()
	if c.bits != nil && c.bits[segment] != nil {
		return nil
	}
	from := int(s.first & s.space.mask())
	return c.v64[segment][from : from+n]
}

// widen gathers signed integers into v and extends them to 64 bits.
func widen[S signedWord, T word](dst []uint64, v []T, src [][]T, s *slot) {
	fetch(v, src, s, 0)
	for i, x := range view[S](v) {
		dst[i] = uint64(x)
	}
}

// fetchNulls sets null[i] if row i is NULL, and reports whether any row is.
func fetchNulls(null []uint8, c *column, s *slot) bool {
	if !c.nullable() && !s.null {
		return false
	}
	if s.pos == nil && c.flags == nil {
		return expandNulls(null, c.bits[s.segment()], int(s.first&s.space.mask()))
	}
	any := false
	for i := range null {
		segment, row, ok := s.at(i)
		if !ok || !c.valid(segment, row) {
			null[i] = 1
			any = true
		}
	}
	return any
}

// fetchValid sets valid[i] to 0 if row i is NULL, else to 1.
func fetchValid(valid []uint8, c *column, s *slot) {
	clear(valid)
	fetchNulls(valid, c, s)
	for i := range valid {
		valid[i] ^= 1
	}
}

// expandNulls sets null[i] where bit first+i of a validity bitmap is 0, and
// reports whether any is. A nil bitmap has no NULLs.
func expandNulls(null []uint8, bitmap []byte, first int) bool {
	if bitmap == nil {
		return false
	}
	var any uint8
	for i := range null {
		at := uint(first + i)
		bit := ^bitmap[at/8] >> (at % 8) & 1
		null[i] |= bit
		any |= bit
	}
	return any != 0
}
