package control

import (
	"errors"
	"fmt"
	"math"

	"gpujoin/joincore"
)

// ErrMalformed reports a message that no correct peer sends.
var ErrMalformed = errors.New("malformed message")

// spansPerColumn: values, validity and heap, two numbers each.
const spansPerColumn = 6

// EncodeSegment encodes the positions of a segment's vectors: place returns the extent of
// a vector and the offset in it, in bytes. All vectors must be in one extent.
func EncodeSegment(s *joincore.Segment, place func([]byte) (extent uint64, offset int64, ok bool)) (*Segment, error) {
	out := &Segment{Rows: int64(s.Rows), Spans: make([]uint64, 0, spansPerColumn*len(s.Columns))}
	known := false
	for i := range s.Columns {
		c := &s.Columns[i]
		for _, b := range [][]byte{c.Values, c.Validity, c.Heap} {
			if len(b) == 0 {
				out.Spans = append(out.Spans, 0, 0)
				continue
			}
			extent, offset, ok := place(b)
			if !ok || known && extent != out.Extent {
				return nil, fmt.Errorf("%w: rows are not within one extent", joincore.ErrUnsupported)
			}
			out.Extent, known = extent, true
			out.Spans = append(out.Spans, uint64(offset), uint64(len(b)))
		}
	}
	return out, nil
}

// Decode returns the segment inside its extent, with the given number of
// columns and each vector clipped to its length. Rows without columns are in no
// extent; their extent number is 0.
func (s *Segment) Decode(extent []byte, columns int) (joincore.Segment, error) {
	most := int64(len(extent)) * 8
	if columns == 0 {
		most = math.MaxInt32
	}
	if s.GetRows() < 1 || s.GetRows() > most || len(s.GetSpans()) != spansPerColumn*columns {
		return joincore.Segment{}, fmt.Errorf("%w: segment of %d rows with %d spans, %d columns",
			ErrMalformed, s.GetRows(), len(s.GetSpans()), columns)
	}
	out := joincore.Segment{Rows: int(s.Rows), Columns: make([]joincore.Vector, columns)}
	spans := s.Spans
	for i := range out.Columns {
		c := &out.Columns[i]
		for _, to := range []*[]byte{&c.Values, &c.Validity, &c.Heap} {
			offset, n := spans[0], spans[1]
			spans = spans[2:]
			if n == 0 {
				continue
			}
			if offset > uint64(len(extent)) || n > uint64(len(extent))-offset {
				return joincore.Segment{}, fmt.Errorf("%w: %d bytes at offset %d of an extent of %d bytes", ErrMalformed, n, offset, len(extent))
			}
			*to = extent[offset : offset+n : offset+n]
		}
	}
	return out, nil
}
