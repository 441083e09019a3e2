package joincore

// ColumnKind says how the values of a column are stored.
type ColumnKind uint8

const (
	// Fixed columns hold rows * Width bytes of values.
	Fixed ColumnKind = iota + 1
	// Varlena columns hold rows+1 little-endian uint32 offsets into a heap of
	// bytes; value i is heap[offset[i]:offset[i+1]], padding included. A NULL
	// has an empty span.
	Varlena
)

// Column is the physical type of a column. Its bytes are opaque but for key
// classes and predicates, which read Fixed columns of width 1, 2, 4 and 8 as
// signed integers.
type Column struct {
	Kind  ColumnKind
	Width int // bytes a value: 1, 2, 4, 8 or a multiple of 8 up to 64; 0 for Varlena
	Align int // bytes; of values in Varlena heaps 4 or 8
}

// Vector is the data of one column of one segment. The slices may lie in
// memory that a peer can still write: users clamp what they read from Values
// and Heap at every use, and never grow a slice beyond its length.
type Vector struct {
	Values   []byte // Fixed: rows*Width bytes; Varlena: 4*(rows+1) bytes of offsets
	Validity []byte // bit i = 1: not NULL, least significant first; nil: no NULLs
	Heap     []byte // Varlena only
}

// Segment is a horizontal part of a relation: Rows rows of every column.
type Segment struct {
	Rows    int
	Columns []Vector
}

// Relation is a list of segments under one set of columns. Row numbers count
// through the segments in order.
type Relation struct {
	Columns  []Column
	Segments []Segment
}

// Rows returns the number of rows of all segments.
func (r *Relation) Rows() int64 {
	var n int64
	for i := range r.Segments {
		n += int64(r.Segments[i].Rows)
	}
	return n
}
