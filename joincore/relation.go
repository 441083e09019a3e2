package joincore

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
)

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

// mostMoved is the width, in bytes, of the widest values that move with their rows. For a wider one, a
// cache miss costs less than moving the value twice.
const mostMoved = 16

// Movable reports whether values move with their rows from one step of a plan to the next. Others
// are fetched by row id.
func (c Column) Movable() bool { return c.Kind == Fixed && c.Width <= mostMoved }

// StoredWidth returns the bytes of each of Vector.Values: of a Varlena column those of an offset.
// 0: there are no such columns.
func (c Column) StoredWidth() int {
	switch {
	case c.Kind == Varlena:
		return 4
	case c.IsInt() || c.Kind == Fixed && c.Width > 0 && c.Width <= 64 && c.Width%8 == 0:
		return c.Width
	}
	return 0
}

// Vector is the data of one column of one segment. A peer may still be able to write
// to its memory: users clamp the values that they read from Values and Heap at every
// use, and never extend a slice beyond its length.
type Vector struct {
	Values   []byte // Fixed: rows*Width bytes; Varlena: 4*(rows+1) bytes of offsets
	Validity []byte // bit i, least significant first: 1 if value i is not NULL; nil: no NULLs
	Heap     []byte // Varlena only
	// Content names values that never change, by a number that is used for nothing else as
	// long as the daemon runs; 0: they have no name. Value i of the vector is value From+i of
	// the content, NULL or not, so a slice keeps the name of the whole, with its own From, and
	// devices find the rows of both in the same copy. How the values are laid out, and whether
	// there is a validity bitmap of rows without NULLs, is no part of the content. Whoever
	// makes a vector of other values, or in another order, leaves Content 0.
	Content uint64
	From    int64
}

var contents atomic.Uint64

// NewContent returns a number for a content that no other one has.
func NewContent() uint64 { return contents.Add(1) }

// Slice returns the name of the vector's rows from the given one on, for a vector of these.
func (v *Vector) Slice(first int) (content uint64, from int64) {
	if v.Content == 0 {
		return 0, 0
	}
	return v.Content, v.From + int64(first)
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

// Check returns an error that wraps ErrInvalid if a vector is too short for the rows of its
// segment, or ErrUnsupported for columns that there are not.
func (r *Relation) Check() error {
	sizes := make([]size, len(r.Columns))
	for j, c := range r.Columns {
		width := c.StoredWidth()
		if width == 0 {
			return fmt.Errorf("column %d: kind %d, width %d: %w", j, c.Kind, c.Width, ErrUnsupported)
		}
		if sizes[j].width = width; c.Kind == Varlena {
			sizes[j].more = width // the last offset ends the last value
		}
	}
	for i := range r.Segments { // in the order in which vectors lie in memory: there may be many
		s := &r.Segments[i]
		if s.Rows < 0 || s.Rows > mostRows || len(s.Columns) < len(r.Columns) {
			return fmt.Errorf("segment %d: %d rows, %d columns: %w", i, s.Rows, len(s.Columns), ErrInvalid)
		}
		for j := range sizes {
			v := &s.Columns[j]
			if len(v.Values) < s.Rows*sizes[j].width+sizes[j].more {
				return fmt.Errorf("segment %d, column %d: %d bytes of values for %d rows: %w", i, j, len(v.Values), s.Rows, ErrInvalid)
			}
			if v.Validity != nil && len(v.Validity) < (s.Rows+7)/8 {
				return fmt.Errorf("segment %d, column %d: validity of %d bytes for %d rows: %w", i, j, len(v.Validity), s.Rows, ErrInvalid)
			}
		}
	}
	return nil
}

// size is what the values of a column take: some bytes a row, and some more.
type size struct{ width, more int }

// mostRows is more rows than any segment has.
const mostRows = math.MaxInt / 128

// Rows returns the total number of rows.
func (r *Relation) Rows() int64 {
	var n int64
	for i := range r.Segments {
		n += int64(r.Segments[i].Rows)
	}
	return n
}

// mostShort is the longest payload, in bytes, whose header has one byte.
const mostShort = 126

// headerSize returns the bytes of the header of a payload of n bytes.
func headerSize(n int) int {
	if n <= mostShort {
		return 1
	}
	return 4
}

// TextSize returns the bytes of a value of variable length whose payload has n bytes, with
// its header and padding to a multiple of align.
func TextSize(n, align int) int { return (headerSize(n) + n + align - 1) / align * align }

// PutText writes a value of variable length to all of `to`, which has TextSize bytes. Its
// header is that of the values that backends feed: of one byte wherever that is enough. So
// values with equal payloads have equal bytes, and KeyVarlena finds them equal, whether a
// backend fed them or the join core made them.
func PutText(to, payload []byte) {
	size := headerSize(len(payload))
	if size == 1 {
		to[0] = byte(1+len(payload))<<1 | 1
	} else {
		binary.LittleEndian.PutUint32(to, uint32(4+len(payload))<<2)
	}
	clear(to[size+copy(to[size:], payload):])
}

// Errors of values of variable length.
var (
	ErrChained    = fmt.Errorf("a value is too long for a batch: %w", ErrUnsupported)
	errTextHeader = fmt.Errorf("the header of a value contradicts its length: %w", ErrInvalid)
)

// TextPayload returns the payload of a value of variable length. The error wraps
// ErrChained if the value is a reference into a chain of extents, or ErrInvalid. A peer
// may change the value meanwhile: each byte of the header is read once.
func TextPayload(value []byte) ([]byte, error) {
	if len(value) == 0 {
		return nil, errTextHeader
	}
	first := value[0]
	header, total := 1, int(first>>1)
	switch {
	case first == 1:
		return nil, ErrChained
	case first&1 == 0:
		if first&2 != 0 || len(value) < 4 {
			return nil, errTextHeader
		}
		header = 4
		total = int((uint32(first) | uint32(value[1])<<8 | uint32(value[2])<<16 | uint32(value[3])<<24) >> 2)
	}
	if total < header || total > len(value) {
		return nil, errTextHeader
	}
	return value[header:total:total], nil
}
