package control

import (
	"encoding/binary"
	"fmt"
	"math"

	"gpujoin/joincore"
	"gpujoin/shm"
)

// Rows of an input on the wire: where its vectors lie. An input of a large table has thousands of
// segments with several vectors each, and all are sent for every query. So most numbers are
// differences, which take a byte or two: vectors that were captured together lie one behind the
// other in their extent, and have contents that follow each other.
//
// All numbers are varints of package binary, signed ones where a difference is meant:
//
//	columns, extents, the number of each extent, segments, and for each segment:
//	  rows, and for each column:
//	    a byte that says what follows (the constants below)
//	    the difference of the content to the last one, the first row there
//	    for each array: the position of its extent in the list, the difference of its offset to
//	    the end of the last array in that extent, its length

// What follows for a column: bit i says that array i, in the order of arrays, is not empty.
const (
	hasContent = 1 << arraysPerColumn << iota // it has a content
	hasFrom                                   // its first row is not row 0 of the content
	columnBits = iota + arraysPerColumn
)

// placed is an extent of some rows. end is where the last array ends that was written or read.
type placed struct {
	data []byte
	end  int
}

// offset returns where b begins in the extent; false: it is not in it.
func (e *placed) offset(b []byte) (int, bool) {
	at := uint64(shm.Address(b)) - uint64(shm.Address(e.data)) // large if b comes first
	return int(at), at < uint64(len(e.data)) && uint64(len(b)) <= uint64(len(e.data))-at
}

// rowsWriter encodes the rows of one input.
type rowsWriter struct {
	place   Place
	extents []placed
	ids     []uint64
	at      map[uint64]int // position of each extent
	last    []int          // position of the extent that the last array of a column lies in
	content uint64         // the last one
	out     []byte
}

// EncodeRows encodes the positions of a relation's vectors. All of them must be in extents.
func EncodeRows(r *joincore.Relation, place Place) ([]byte, error) {
	columns := len(r.Columns)
	w := &rowsWriter{place: place, at: map[uint64]int{}, last: make([]int, columns)}
	w.out = make([]byte, 0, len(r.Segments)*(4+bytesPerColumn*columns))
	for i := range r.Segments {
		s := &r.Segments[i]
		if len(s.Columns) != columns {
			return nil, fmt.Errorf("%w: %d vectors for %d columns", joincore.ErrInvalid, len(s.Columns), columns)
		}
		w.out = binary.AppendUvarint(w.out, uint64(s.Rows))
		for j := range s.Columns {
			if err := w.column(j, &s.Columns[j]); err != nil {
				return nil, err
			}
		}
	}
	head := binary.AppendUvarint(nil, uint64(columns))
	head = binary.AppendUvarint(head, uint64(len(w.ids)))
	for _, id := range w.ids {
		head = binary.AppendUvarint(head, id)
	}
	head = binary.AppendUvarint(head, uint64(len(r.Segments)))
	return append(head, w.out...), nil
}

// bytesPerColumn is about what a column of a segment takes.
const bytesPerColumn = 12

func (w *rowsWriter) column(number int, v *joincore.Vector) error {
	head := len(w.out)
	w.out = append(w.out, 0)
	if v.Content != 0 {
		w.out[head] |= hasContent
		w.out = binary.AppendVarint(w.out, int64(v.Content-w.content))
		w.content = v.Content
		if v.From != 0 {
			w.out[head] |= hasFrom
			w.out = binary.AppendUvarint(w.out, uint64(v.From))
		}
	}
	for i, b := range arrays(v) {
		if len(*b) == 0 {
			continue
		}
		w.out[head] |= 1 << i
		position, offset, ok := w.find(number, *b)
		if !ok {
			return errNowhere
		}
		e := &w.extents[position]
		w.out = binary.AppendUvarint(w.out, uint64(position))
		w.out = binary.AppendVarint(w.out, int64(offset-e.end))
		w.out = binary.AppendUvarint(w.out, uint64(len(*b)))
		e.end = offset + len(*b)
	}
	return nil
}

// find returns the extent that an array of a column lies in, mostly that of the array before.
func (w *rowsWriter) find(column int, b []byte) (position, offset int, ok bool) {
	if position = w.last[column]; position < len(w.extents) {
		if offset, ok = w.extents[position].offset(b); ok {
			return position, offset, true
		}
	}
	id, data := w.place(b)
	if data == nil {
		return 0, 0, false
	}
	position, known := w.at[id]
	if !known {
		position = len(w.extents)
		w.at[id] = position
		w.extents, w.ids = append(w.extents, placed{data: data}), append(w.ids, id)
	}
	w.last[column] = position
	offset, ok = w.extents[position].offset(b)
	return position, offset, ok
}

// rowsReader decodes them.
type rowsReader struct {
	in      []byte
	at      int // what is left begins here
	failed  error
	extents []placed
	most    int64 // rows of a segment
	content uint64
}

// DecodeRows returns the relation with the given columns that EncodeRows was given, with each
// vector clipped to its length. use returns an extent.
func DecodeRows(in []byte, columns []joincore.Column, use func(extent uint64) ([]byte, error)) (*joincore.Relation, error) {
	r := &rowsReader{in: in}
	if n := r.unsigned(); n != uint64(len(columns)) && r.failed == nil {
		return nil, fmt.Errorf("%w: rows of %d columns, not %d", ErrMalformed, n, len(columns))
	}
	largest := 0
	for range r.count(1) {
		id := r.unsigned()
		if r.failed != nil {
			break
		}
		data, err := use(id)
		if err != nil {
			return nil, err
		}
		r.extents = append(r.extents, placed{data: data})
		largest = max(largest, len(data))
	}
	r.most = mostRows(len(columns), largest)
	segments := r.count(1 + len(columns))
	out := &joincore.Relation{Columns: columns, Segments: make([]joincore.Segment, segments)}
	vectors := make([]joincore.Vector, segments*len(columns)) // of all segments
	for i := range out.Segments {
		s := &out.Segments[i]
		s.Columns, vectors = vectors[:len(columns):len(columns)], vectors[len(columns):]
		r.segment(s)
		if r.failed != nil {
			return nil, r.failed
		}
	}
	if r.at < len(in) {
		r.fail("%d bytes too many", len(in)-r.at)
	}
	if r.failed != nil {
		return nil, r.failed
	}
	return out, nil
}

// fail notes the first thing that is wrong.
func (r *rowsReader) fail(format string, args ...any) {
	if r.failed == nil {
		r.failed = fmt.Errorf("%w: rows: "+format, append([]any{ErrMalformed}, args...)...)
	}
	r.at = len(r.in)
}

// unsigned reads a number; 0 if there is none.
func (r *rowsReader) unsigned() uint64 {
	if at := r.at; at < len(r.in) && r.in[at] < 0x80 {
		r.at++
		return uint64(r.in[at])
	}
	return r.long()
}

// long reads a number of several bytes.
func (r *rowsReader) long() uint64 {
	n, size := binary.Uvarint(r.in[r.at:])
	if size <= 0 {
		r.fail("a number is missing or too large")
		return 0
	}
	r.at += size
	return n
}

// signed reads a difference.
func (r *rowsReader) signed() int64 {
	n := r.unsigned()
	return int64(n>>1) ^ -int64(n&1)
}

// count reads how many things follow, which take some bytes each at least.
func (r *rowsReader) count(bytes int) int {
	n := r.unsigned()
	if left := len(r.in) - r.at; n > uint64(left/bytes) {
		r.fail("%d items in %d bytes", n, left)
		return 0
	}
	return int(n)
}

func (r *rowsReader) segment(s *joincore.Segment) {
	rows := r.unsigned()
	if r.failed == nil && (rows < 1 || rows > uint64(r.most)) {
		r.fail("a segment of %d rows", rows)
	}
	s.Rows = int(rows)
	for i := range s.Columns {
		r.column(&s.Columns[i])
	}
}

func (r *rowsReader) column(v *joincore.Vector) {
	if r.at == len(r.in) {
		r.fail("a column is missing")
		return
	}
	has := r.in[r.at]
	r.at++
	if has>>columnBits != 0 || has&(hasContent|hasFrom) == hasFrom {
		r.fail("a column with %#x", has)
		return
	}
	if has&hasContent != 0 {
		r.content += uint64(r.signed())
		if v.Content = r.content; v.Content == 0 {
			r.fail("a content without a number")
		}
	}
	if has&hasFrom != 0 {
		from := r.unsigned()
		if from > math.MaxInt32 {
			r.fail("row %d of a content", from)
		}
		v.From = int64(from)
	}
	if has&1 != 0 {
		r.array(&v.Values)
	}
	if has&2 != 0 {
		r.array(&v.Validity)
	}
	if has&4 != 0 {
		r.array(&v.Heap)
	}
}

func (r *rowsReader) array(to *[]byte) {
	position, step, n := r.unsigned(), r.signed(), r.unsigned()
	if position >= uint64(len(r.extents)) {
		r.fail("extent %d of %d", position, len(r.extents))
		return
	}
	e := &r.extents[position]
	offset := uint64(int64(e.end) + step)
	b, err := within(e.data, offset, n)
	if err != nil || n == 0 {
		r.fail("%d bytes, %d behind %d of %d", n, step, e.end, len(e.data))
		return
	}
	*to, e.end = b, int(offset+n)
}
