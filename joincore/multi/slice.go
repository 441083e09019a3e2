package multi

import (
	"encoding/binary"

	"gpujoin/joincore"
)

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
