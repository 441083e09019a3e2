package multi

import (
	"gpujoin/joincore"
)

// align is the alignment of columns within a batch, in bytes.
const align = 64

// layout is where the columns of a batch are in its memory: for each column its values, or the
// offsets of those of variable length; then validity bits; then the bytes of variable length.
type layout struct {
	rows  int64
	heap  []int64 // bytes, by column
	part  []part  // by column
	bytes int64   // of all
}

type part struct{ values, validity, heap int64 }

// newLayout computes the places of columns for some rows, and some bytes of variable length in each.
func newLayout(columns []joincore.Column, rows int64, heap []int64) *layout {
	l := &layout{rows: rows, heap: heap, part: make([]part, len(columns))}
	end := int64(0)
	place := func(bytes int64) (at int64) {
		at = end
		end = (end + bytes + align - 1) &^ (align - 1)
		return at
	}
	for i, c := range columns {
		p := &l.part[i]
		if c.Kind == joincore.Varlena {
			p.values = place(4 * (rows + 1))
			p.heap = place(heap[i])
		} else {
			p.values = place(int64(c.Width) * rows)
		}
		p.validity = place((rows + 7) / 8)
	}
	l.bytes = max(end, align)
	return l
}

// segment returns the rows whose bytes begin at memory[0].
func (l *layout) segment(columns []joincore.Column, memory []byte) joincore.Segment {
	s := joincore.Segment{Rows: int(l.rows), Columns: make([]joincore.Vector, len(columns))}
	cut := func(at, bytes int64) []byte { return memory[at : at+bytes : at+bytes] }
	for i, c := range columns {
		p, v := l.part[i], &s.Columns[i]
		if c.Kind == joincore.Varlena {
			v.Values, v.Heap = cut(p.values, 4*(l.rows+1)), cut(p.heap, l.heap[i])
		} else {
			v.Values = cut(p.values, int64(c.Width)*l.rows)
		}
		v.Validity = cut(p.validity, (l.rows+7)/8)
	}
	return s
}
