package suite

import (
	"encoding/binary"
	"math/rand/v2"
	"syscall"

	"gpujoin/joincore"
)

// payload are the columns that every generated relation has after its keys.
var payload = []joincore.Column{fixed(8), fixed(1), varlena, fixed(4), fixed(24)}

// generate makes a relation of key and payload columns.
func generate(r *rand.Rand, keys []joincore.Column, rows, segmentRows int, d distribution) *joincore.Relation {
	rel := &joincore.Relation{Columns: append(append([]joincore.Column{}, keys...), payload...)}
	for at := 0; at < rows; at += segmentRows {
		n := min(segmentRows, rows-at)
		s := joincore.Segment{Rows: n}
		for c, col := range rel.Columns {
			nulls := d.nulls
			if c >= len(keys) {
				nulls = 0.1 * float64(c%2)
			}
			s.Columns = append(s.Columns, vector(r, col, n, nulls, func(i int) int {
				if c < len(keys) {
					return d.pick(r, at+i, rows) >> (8 * c) // the first key column has the most values
				}
				return r.IntN(1000) - 500
			}))
		}
		rel.Segments = append(rel.Segments, s)
	}
	return rel
}

// vector makes a column whose values are functions of small integers.
func vector(r *rand.Rand, col joincore.Column, n int, nulls float64, pick func(i int) int) joincore.Vector {
	var v joincore.Vector
	if nulls > 0 {
		v.Validity = make([]byte, (n+7)/8)
	}
	if col.Kind == joincore.Varlena {
		v.Values = binary.LittleEndian.AppendUint32(v.Values, 0)
	}
	for i := range n {
		x := pick(i)
		null := r.Float64() < nulls
		if !null && v.Validity != nil {
			v.Validity[i/8] |= 1 << (i % 8)
		}
		if col.Kind == joincore.Varlena {
			if !null {
				v.Heap = append(v.Heap, varlenaOf(x, col.Align)...)
			}
			v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(len(v.Heap)))
			continue
		}
		if null {
			x = r.Int() // the value of a NULL must not matter
		}
		value := binary.LittleEndian.AppendUint64(nil, uint64(x))
		for len(value) < col.Width {
			value = append(value, byte(x), 0, 1, 0, 0, 0, byte(x>>8), 0)
		}
		v.Values = append(v.Values, value[:col.Width]...)
	}
	return v
}

// varlenaOf makes a value of 4 to 40 bytes from an integer, with padding.
func varlenaOf(x, align int) []byte {
	payload := binary.LittleEndian.AppendUint32(nil, uint32(x))
	for range (x & 0xff) % 10 {
		payload = append(payload, byte(x), 1, 2)
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)+4)<<2)
	b = append(b, payload...)
	for len(b)%align != 0 {
		b = append(b, 0)
	}
	return b
}

// Int64Columns describes n columns of 8 bytes.
func Int64Columns(n int) []joincore.Column {
	out := make([]joincore.Column, n)
	for i := range out {
		out[i] = fixed(8)
	}
	return out
}

// Int64Relation makes n rows of 8-byte columns, in mapped segments of an extent's size.
// value returns the value of a column in a row.
func Int64Relation(n, columns int, value func(row, column int) uint64) *joincore.Relation {
	const segmentRows = 1 << 18
	r := &joincore.Relation{Columns: Int64Columns(columns)}
	for at := 0; at < n; at += segmentRows {
		s := joincore.Segment{Rows: min(segmentRows, n-at)}
		for c := range columns {
			values, err := MapHuge(8 * s.Rows)
			if err != nil {
				panic(err)
			}
			for i := range s.Rows {
				binary.LittleEndian.PutUint64(values[8*i:], value(at+i, c))
			}
			s.Columns = append(s.Columns, joincore.Vector{Values: values})
		}
		r.Segments = append(r.Segments, s)
	}
	return r
}

// Unmap frees the memory of a relation from Int64Relation.
func Unmap(r *joincore.Relation) {
	for _, s := range r.Segments {
		for _, c := range s.Columns {
			if err := syscall.Munmap(c.Values); err != nil {
				panic(err)
			}
		}
	}
	r.Segments = nil
}
