package joincore

import "encoding/binary"

// ColumnKind is the storage format of a column's values.
type ColumnKind uint8

const (
	// Fixed columns hold rows * Width bytes of values.
	Fixed ColumnKind = iota + 1
	// Varlena columns hold rows+1 little-endian uint32 offsets into a heap of
	// bytes; value i is heap[offset[i]:offset[i+1]], padding included. A NULL
	// has an empty span.
	Varlena
)

// Column is the physical type of a column. Its bytes are opaque except to key classes
// and predicates, which read Fixed columns of width 1, 2, 4 and 8 as signed integers.
type Column struct {
	Kind  ColumnKind
	Width int // bytes per value: 1, 2, 4, 8 or a multiple of 8 up to 64; 0 for Varlena
	Align int // bytes; 4 or 8 for values in Varlena heaps
}

// IsInt reports whether values are read as signed integers.
func (c Column) IsInt() bool {
	return c.Kind == Fixed && (c.Width == 1 || c.Width == 2 || c.Width == 4 || c.Width == 8)
}

// Vector is the data of one column of one segment. A peer may still be able to write
// to its memory: users clamp the values that they read from Values and Heap at every
// use, and never extend a slice beyond its length.
type Vector struct {
	Values   []byte // Fixed: rows*Width bytes; Varlena: 4*(rows+1) bytes of offsets
	Validity []byte // bit i, least significant first: 1 if value i is not NULL; nil: no NULLs
	Heap     []byte // Varlena only
}

// Null reports whether value i is NULL.
func (v *Vector) Null(i int) bool {
	return v.Validity != nil && v.Validity[i/8]>>(i%8)&1 == 0
}

// Variable returns the bytes of value i of a Varlena column, header and padding
// included. It reads the offsets once.
func (v *Vector) Variable(i int) []byte {
	offsets := v.Values[4*i:][:8]
	return HeapSpan(v.Heap, binary.LittleEndian.Uint32(offsets), binary.LittleEndian.Uint32(offsets[4:]))
}

// HeapSpan returns the bytes between two offsets in a heap. It does not trust them: it
// returns only bytes that exist, and none if the offsets decrease.
func HeapSpan(heap []byte, from, to uint32) []byte {
	end := min(uint64(to), uint64(len(heap)))
	return heap[min(uint64(from), end):end:end]
}

// Segment is a horizontal part of a relation: Rows rows of every column.
type Segment struct {
	Rows    int
	Columns []Vector
}

// Relation is a list of segments with the same columns. Row numbers continue from
// segment to segment.
type Relation struct {
	Columns  []Column
	Segments []Segment
}

// Rows returns the total number of rows.
func (r *Relation) Rows() int64 {
	var n int64
	for i := range r.Segments {
		n += int64(r.Segments[i].Rows)
	}
	return n
}
