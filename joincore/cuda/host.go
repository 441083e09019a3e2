package cuda

import (
	"encoding/binary"
	"fmt"
	"sort"

	"gpujoin/joincore"
)

// none is the row id of a missing row.
const none = ^uint32(0)

// maxRows bounds the rows of an input, as package rowid does.
const maxRows = 1<<32 - 1<<20

// hostInput is a base input where the caller has it. Rows are numbered through
// the segments.
type hostInput struct {
	relation *joincore.Relation
	starts   []int64 // the first row of each segment, and the number of all
	seed     uint64  // of the execution's hashes
}

func newHostInput(input int, r *joincore.Relation) (*hostInput, error) {
	h := &hostInput{relation: r, starts: []int64{0}}
	for i := range r.Segments {
		s := &r.Segments[i]
		if s.Rows < 0 {
			return nil, fmt.Errorf("input %d, segment %d: %d rows: %w", input, i, s.Rows, joincore.ErrInvalid)
		}
		for j, c := range r.Columns {
			if err := checkVector(s, j, c); err != nil {
				return nil, fmt.Errorf("input %d, segment %d, column %d: %w", input, i, j, err)
			}
		}
		h.starts = append(h.starts, h.starts[i]+int64(s.Rows))
	}
	if h.rows() >= maxRows {
		return nil, fmt.Errorf("input %d has more rows than row ids can address: %w", input, joincore.ErrUnsupported)
	}
	return h, nil
}

func checkVector(s *joincore.Segment, j int, c joincore.Column) error {
	if j >= len(s.Columns) {
		return fmt.Errorf("%d columns: %w", len(s.Columns), joincore.ErrInvalid)
	}
	width, values := int64(c.Width), int64(s.Rows)
	switch {
	case c.Kind == joincore.Varlena:
		width, values = 4, values+1
	case c.Kind != joincore.Fixed || !validWidth(c.Width):
		return fmt.Errorf("kind %d, width %d: %w", c.Kind, c.Width, joincore.ErrUnsupported)
	}
	v := &s.Columns[j]
	if int64(len(v.Values)) < values*width {
		return fmt.Errorf("%d bytes for %d values of %d: %w", len(v.Values), values, width, joincore.ErrInvalid)
	}
	if v.Validity != nil && len(v.Validity) < (s.Rows+7)/8 {
		return fmt.Errorf("validity of %d bytes for %d rows: %w", len(v.Validity), s.Rows, joincore.ErrInvalid)
	}
	return nil
}

func validWidth(w int) bool { return w == 1 || w == 2 || w == 4 || w > 0 && w <= 64 && w%8 == 0 }

func (h *hostInput) rows() int64 { return h.starts[len(h.starts)-1] }

// nullable says whether any segment has a validity bitmap for the column.
func (h *hostInput) nullable(column int) bool {
	for i := range h.relation.Segments {
		if h.relation.Segments[i].Columns[column].Validity != nil {
			return true
		}
	}
	return false
}

// numbers are the row numbers of some rows in one input.
type numbers struct {
	first int64    // row i is row first + i, where list is nil
	list  []uint32 // none: there is no such row
}

func (n numbers) at(i int) (row int64, ok bool) {
	if n.list == nil {
		return n.first + int64(i), true
	}
	return int64(n.list[i]), n.list[i] != none
}

// reader reads one column by row number. Consecutive rows are mostly of one
// segment, which it remembers.
type reader struct {
	h      *hostInput
	column int
	desc   joincore.Column
	seg    int
	vector *joincore.Vector
	low    int64 // rows [low, high) are those of the segment
	high   int64
}

func (h *hostInput) reader(column int) reader {
	return reader{h: h, column: column, desc: h.relation.Columns[column]}
}

// locate makes the row's segment the present one and returns its number there.
func (r *reader) locate(row int64) int64 {
	if row < r.low || row >= r.high {
		r.seg = sort.Search(len(r.h.starts)-1, func(i int) bool { return r.h.starts[i+1] > row })
		r.low, r.high = r.h.starts[r.seg], r.h.starts[r.seg+1]
		r.vector = &r.h.relation.Segments[r.seg].Columns[r.column]
	}
	return row - r.low
}

// fixed returns the bytes of a value of fixed width, nil for NULL.
func (r *reader) fixed(row int64) []byte {
	if r.null(r.locate(row)) {
		return nil
	}
	return r.raw(row)
}

// raw returns the bytes of a value of fixed width, of a NULL as well.
func (r *reader) raw(row int64) []byte {
	i, w := r.locate(row), int64(r.desc.Width)
	return r.vector.Values[i*w : (i+1)*w]
}

// varlena returns the bytes of a value of variable length, and false for NULL.
// The offsets may be anything: they are read once, and cut to the heap.
func (r *reader) varlena(row int64) ([]byte, bool) {
	i := r.locate(row)
	if r.null(i) {
		return nil, false
	}
	from := uint64(binary.LittleEndian.Uint32(r.vector.Values[4*i:]))
	to := uint64(binary.LittleEndian.Uint32(r.vector.Values[4*i+4:]))
	to = min(to, uint64(len(r.vector.Heap)))
	from = min(from, to)
	return r.vector.Heap[from:to:to], true
}

func (r *reader) null(i int64) bool {
	return r.vector.Validity != nil && r.vector.Validity[i/8]>>(i%8)&1 == 0
}

// padded is the length of a value with what keeps the next one aligned.
func padded(n, align int) int {
	align = max(align, 1)
	return (n + align - 1) / align * align
}

// writeVarlena copies values into rows [at, at+n) of a batch until its heap, of
// which used bytes are, is full. It returns how many rows it wrote and the
// bytes then used.
func (r *reader) writeVarlena(v *joincore.Vector, at, used int, rows numbers, n int) (int, int) {
	put := func(i int) { binary.LittleEndian.PutUint32(v.Values[4*i:], uint32(used)) }
	put(at)
	for i := range n {
		value, ok := []byte(nil), false
		if row, there := rows.at(i); there {
			value, ok = r.varlena(row)
		}
		size := padded(len(value), r.desc.Align)
		if size > len(v.Heap)-used {
			return i, used
		}
		copy(v.Heap[used:], value)
		clear(v.Heap[used+len(value) : used+size])
		used += size
		put(at + i + 1)
		if !ok {
			setNull(v, at+i)
		}
	}
	return n, used
}

// writeFixed copies values into rows [at, at+n) of a batch.
func (r *reader) writeFixed(v *joincore.Vector, at int, rows numbers, n int) {
	w := r.desc.Width
	for i := range n {
		to := v.Values[(at+i)*w : (at+i+1)*w]
		var value []byte
		if row, ok := rows.at(i); ok {
			value = r.fixed(row)
		}
		if value == nil {
			clear(to)
			setNull(v, at+i)
			continue
		}
		copy(to, value)
	}
}

// writeMissing makes rows [at, at+n) of a batch NULL.
func writeMissing(v *joincore.Vector, c joincore.Column, at, used, n int) {
	if c.Kind == joincore.Varlena {
		for i := range n + 1 {
			binary.LittleEndian.PutUint32(v.Values[4*(at+i):], uint32(used))
		}
	} else {
		clear(v.Values[at*c.Width : (at+n)*c.Width])
	}
	for i := range n {
		setNull(v, at+i)
	}
}

func setNull(v *joincore.Vector, row int) { v.Validity[row/8] &^= 1 << (row % 8) }
