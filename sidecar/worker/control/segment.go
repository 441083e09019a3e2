package control

import (
	"errors"
	"fmt"
	"math"

	"gpujoin/joincore"
	"gpujoin/shm"
)

// ErrMalformed reports a message that no correct peer sends.
var ErrMalformed = errors.New("malformed message")

// Place returns the extent that bytes lie in, and all of its bytes; nil: they lie in none.
type Place func(b []byte) (extent uint64, data []byte)

var errNowhere = fmt.Errorf("%w: rows are not within extents", joincore.ErrUnsupported)

// arraysPerColumn: values, validity and heap.
const arraysPerColumn = 3

// arrays returns the arrays of a vector.
func arrays(v *joincore.Vector) [arraysPerColumn]*[]byte {
	return [...]*[]byte{&v.Values, &v.Validity, &v.Heap}
}

// EncodeSegment encodes the positions of a segment's vectors, all of which must be in one extent.
func EncodeSegment(s *joincore.Segment, place Place) (*Segment, error) {
	out := &Segment{Rows: int64(s.Rows), Spans: make([]uint64, 0, 2*arraysPerColumn*len(s.Columns))}
	for i := range s.Columns {
		for _, b := range arrays(&s.Columns[i]) {
			if len(*b) == 0 {
				out.Spans = append(out.Spans, 0, 0)
				continue
			}
			extent, data := place(*b)
			if data == nil || out.Extent != 0 && extent != out.Extent {
				return nil, errNowhere
			}
			out.Extent = extent
			out.Spans = append(out.Spans, uint64(shm.Address(*b)-shm.Address(data)), uint64(len(*b)))
		}
	}
	return out, nil
}

// Decode returns the segment in the extent with the given bytes, with the given number of columns
// and each vector clipped to its length.
func (s *Segment) Decode(extent []byte, columns int) (joincore.Segment, error) {
	if s.GetRows() < 1 || s.GetRows() > mostRows(columns, len(extent)) || len(s.GetSpans()) != 2*arraysPerColumn*columns {
		return joincore.Segment{}, fmt.Errorf("%w: segment of %d rows with %d spans, %d columns", ErrMalformed, s.GetRows(), len(s.GetSpans()), columns)
	}
	out := joincore.Segment{Rows: int(s.Rows), Columns: make([]joincore.Vector, columns)}
	for i := range columns {
		for j, to := range arrays(&out.Columns[i]) {
			span := s.Spans[2*(arraysPerColumn*i+j):]
			if span[1] == 0 {
				continue
			}
			var err error
			if *to, err = within(extent, span[0], span[1]); err != nil {
				return joincore.Segment{}, err
			}
		}
	}
	return out, nil
}

// mostRows returns how many rows a segment may have whose arrays lie in extents of at most some
// bytes: no column takes less than a bit for each.
func mostRows(columns, extent int) int64 {
	if columns == 0 {
		return math.MaxInt32
	}
	return 8 * int64(extent)
}

// within returns n bytes of an extent, from an offset on.
func within(extent []byte, offset, n uint64) ([]byte, error) {
	if offset > uint64(len(extent)) || n > uint64(len(extent))-offset {
		return nil, fmt.Errorf("%w: %d bytes at offset %d of an extent of %d bytes", ErrMalformed, n, offset, len(extent))
	}
	return extent[offset : offset+n : offset+n], nil
}
