package joincore

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

// Vector is the data of one column of one segment. A peer may still be able to write
// to its memory: users clamp the values that they read from Values and Heap at every
// use, and never extend a slice beyond its length.
type Vector struct {
	Values   []byte // Fixed: rows*Width bytes; Varlena: 4*(rows+1) bytes of offsets
	Validity []byte // bit i, least significant first: 1 if value i is not NULL; nil: no NULLs
	Heap     []byte // Varlena only
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
