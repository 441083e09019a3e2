package multi

import (
	"encoding/binary"
	"fmt"
	"math"

	"gpujoin/joincore"
)

// align is the alignment of columns within a block, and of blocks, in bytes.
const align = 64

// block is rows of one member, all for the same members, in column layout: for each
// column its values, or the offsets of those of variable length; then validity bits, if
// the column may be NULL; then the bytes of variable length.
type block struct {
	from int
	set  uint64 // of the members that get the rows, a bit for each
	rows int64
	heap []int64 // bytes, by column
	part []part  // by column
	// bytes is the size; at says where the block is in the memory of its own
	// member: in rows if that gets the rows, too, else in what is sent.
	bytes, at int64
}

// part is where a column is in a block. validity is 0 if no row is NULL.
type part struct{ values, validity, heap int64 }

func (b *block) local() bool { return b.set>>b.from&1 == 1 }

// lay computes the places of the columns.
func (b *block) lay(columns []joincore.Column, nullable []bool) error {
	b.part = make([]part, len(columns))
	end := int64(0)
	place := func(bytes int64) (at int64) {
		at = end
		end = (end + bytes + align - 1) &^ (align - 1)
		return at
	}
	for i, c := range columns {
		p := &b.part[i]
		if c.Kind == joincore.Varlena {
			p.values = place(4 * (b.rows + 1))
			p.heap = place(b.heap[i])
			if b.heap[i] > math.MaxUint32 {
				return fmt.Errorf("%d bytes of variable length for one member: %w", b.heap[i], joincore.ErrUnsupported)
			}
		} else {
			p.values = place(int64(c.Width) * b.rows)
		}
		if nullable[i] {
			end = max(end, align) // not at 0
			p.validity = place((b.rows + 7) / 8)
		}
	}
	b.bytes = max(end, align)
	return nil
}

// segment returns the rows of the block whose bytes begin at memory[0].
func (b *block) segment(columns []joincore.Column, memory []byte) joincore.Segment {
	s := joincore.Segment{Rows: int(b.rows), Columns: make([]joincore.Vector, len(columns))}
	cut := func(at, bytes int64) []byte { return memory[at : at+bytes : at+bytes] }
	for i, c := range columns {
		p, v := b.part[i], &s.Columns[i]
		if c.Kind == joincore.Varlena {
			v.Values, v.Heap = cut(p.values, 4*(b.rows+1)), cut(p.heap, b.heap[i])
		} else {
			v.Values = cut(p.values, int64(c.Width)*b.rows)
		}
		if p.validity > 0 {
			v.Validity = cut(p.validity, (b.rows+7)/8)
		}
	}
	return s
}

// slice divides a relation into parts of about equal numbers of rows, without copying. Parts
// begin at rows whose validity bits begin a byte. Vectors that are too short stay so.
func slice(r *joincore.Relation, parts int) []*joincore.Relation {
	out := make([]*joincore.Relation, parts)
	for i := range out {
		out[i] = &joincore.Relation{Columns: r.Columns}
	}
	total, before := r.Rows(), int64(0)
	for i := range r.Segments {
		s := &r.Segments[i]
		low := 0
		for p := range out {
			high := s.Rows
			if p < parts-1 {
				high = int(min(max(total*int64(p+1)/int64(parts)-before, 0)&^7, int64(s.Rows)))
			}
			if high > low {
				out[p].Segments = append(out[p].Segments, rowsOf(r.Columns, s, low, high))
				low = high
			}
		}
		before += int64(s.Rows)
	}
	return out
}

// rowsOf returns rows [low, high) of a segment; low is a multiple of 8.
func rowsOf(columns []joincore.Column, s *joincore.Segment, low, high int) joincore.Segment {
	out := joincore.Segment{Rows: high - low, Columns: make([]joincore.Vector, len(s.Columns))}
	for i := range s.Columns {
		v := &s.Columns[i]
		w := &out.Columns[i]
		w.Content, w.From = v.Slice(low)
		if columns[i].Kind == joincore.Varlena {
			w.Values = within(v.Values, 4*low, 4*(high+1))
			w.Heap = v.Heap
			if last := w.Values[max(len(w.Values)-4, 0):]; len(last) == 4 {
				// What lies behind the last value is not of these rows.
				w.Heap = within(v.Heap, 0, int(binary.LittleEndian.Uint32(last)))
			}
		} else {
			w.Values = within(v.Values, columns[i].Width*low, columns[i].Width*high)
		}
		if v.Validity != nil {
			w.Validity = within(v.Validity, low/8, (high+7)/8)
		}
	}
	return out
}

// within returns what exists of b[low:high], never nil.
func within(b []byte, low, high int) []byte {
	low, high = min(low, len(b)), min(high, len(b))
	return b[low:high:high]
}
