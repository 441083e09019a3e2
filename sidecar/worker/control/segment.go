package control

import (
	"errors"
	"fmt"
	"math"

	"gpujoin/joincore"
)

// ErrMalformed reports a message that no correct peer sends.
var ErrMalformed = errors.New("malformed message")

// arraysPerColumn: values, validity and heap.
const arraysPerColumn = 3

// EncodeSegment encodes the positions of a segment's vectors: place returns the extent of
// a vector and the offset in it, in bytes. All vectors must be in extents.
func EncodeSegment(s *joincore.Segment, place func([]byte) (extent uint64, offset int64, ok bool)) (*Segment, error) {
	arrays := arraysPerColumn * len(s.Columns)
	out := &Segment{Rows: int64(s.Rows), Spans: make([]uint64, 0, 2*arrays)}
	extents, several := make([]uint64, 0, arrays), false
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Content != 0 {
			if out.Contents == nil {
				out.Contents, out.From = make([]uint64, len(s.Columns)), make([]uint64, len(s.Columns))
			}
			out.Contents[i], out.From[i] = c.Content, uint64(c.From)
		}
		for _, b := range [][]byte{c.Values, c.Validity, c.Heap} {
			if len(b) == 0 {
				out.Spans = append(out.Spans, 0, 0)
				extents = append(extents, 0)
				continue
			}
			extent, offset, ok := place(b)
			if !ok {
				return nil, fmt.Errorf("%w: rows are not within extents", joincore.ErrUnsupported)
			}
			several = several || out.Extent != 0 && extent != out.Extent
			out.Extent = extent
			extents = append(extents, extent)
			out.Spans = append(out.Spans, uint64(offset), uint64(len(b)))
		}
	}
	if several {
		out.Extent, out.Extents = 0, extents
	}
	return out, nil
}

// In visits the extents that the segment's vectors lie in, some of them more than once; 0 if they
// lie in none.
func (s *Segment) In(visit func(extent uint64) error) error {
	if len(s.GetExtents()) == 0 {
		return visit(s.GetExtent())
	}
	last := uint64(0)
	for _, id := range s.Extents {
		if id == 0 || id == last { // 0: of an empty array
			continue
		}
		if err := visit(id); err != nil {
			return err
		}
		last = id
	}
	return nil
}

// Decode returns the segment, with the given number of columns and each vector clipped to
// its length. data returns the extents that In lists. Rows without columns are in no
// extent; their extent number is 0.
func (s *Segment) Decode(data func(extent uint64) []byte, columns int) (joincore.Segment, error) {
	arrays := arraysPerColumn * columns
	most := int64(math.MaxInt32)
	if columns > 0 {
		most = 0
		_ = s.In(func(extent uint64) error {
			most = max(most, int64(len(data(extent)))*8)
			return nil
		})
	}
	n := len(s.GetExtents())
	named := len(s.GetContents())
	if s.GetRows() < 1 || s.GetRows() > most || len(s.GetSpans()) != 2*arrays || n != 0 && n != arrays ||
		named != 0 && named != columns || len(s.GetFrom()) != named {
		return joincore.Segment{}, fmt.Errorf("%w: segment of %d rows with %d spans, %d columns, %d extents",
			ErrMalformed, s.GetRows(), len(s.GetSpans()), columns, n)
	}
	out := joincore.Segment{Rows: int(s.Rows), Columns: make([]joincore.Vector, columns)}
	for i, content := range s.Contents {
		if s.From[i] > math.MaxInt32 {
			return joincore.Segment{}, fmt.Errorf("%w: row %d of a content", ErrMalformed, s.From[i])
		}
		out.Columns[i].Content, out.Columns[i].From = content, int64(s.From[i])
	}
	for i := range arrays {
		offset, n, in := s.Spans[2*i], s.Spans[2*i+1], s.Extent
		if n == 0 {
			continue
		}
		if len(s.Extents) > 0 {
			in = s.Extents[i]
		}
		extent := data(in)
		if offset > uint64(len(extent)) || n > uint64(len(extent))-offset {
			return joincore.Segment{}, fmt.Errorf("%w: %d bytes at offset %d of an extent of %d bytes", ErrMalformed, n, offset, len(extent))
		}
		c := &out.Columns[i/arraysPerColumn]
		*[]*[]byte{&c.Values, &c.Validity, &c.Heap}[i%arraysPerColumn] = extent[offset : offset+n : offset+n]
	}
	return out, nil
}
