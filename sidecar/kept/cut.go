package kept

import (
	"math/bits"

	"gpujoin/joincore"
)

// mostPositions bounds the row numbers that the segments of an input should take. The join
// core numbers rows by segment and row with 32 bits, and gives each segment as many numbers as
// the largest one has rows, rounded up to a power of two.
const mostPositions = 1 << 30

// positions returns how many numbers n segments take, of which the largest has some rows.
func positions(n, largest int) int { return n << bits.Len(uint(max(largest, 1)-1)) }

// Cut returns the same rows in more segments if the row numbers would not suffice otherwise:
// many kept chunks have some ten thousand rows each, and a batch that was fed may have
// millions. It cuts without copying.
func Cut(columns []joincore.Column, segments []joincore.Segment) []joincore.Segment {
	largest := 0
	for i := range segments {
		largest = max(largest, segments[i].Rows)
	}
	if positions(len(segments), largest) <= mostPositions {
		return segments
	}
	// Smaller sizes waste fewer numbers; whole bytes of a validity bitmap are the smallest.
	size := 1 << bits.Len(uint(max(largest, 8)-1))
	count := len(segments)
	for positions(count, size) > mostPositions && size > 4096 {
		size /= 2
		count = 0
		for i := range segments {
			count += (segments[i].Rows + size - 1) / size
		}
	}
	out := make([]joincore.Segment, 0, count)
	for i := range segments {
		s := &segments[i]
		for at := 0; at < s.Rows; at += size {
			out = append(out, part8(columns, s, at, min(size, s.Rows-at)))
		}
	}
	return out
}

// part8 returns rows of a segment, from a multiple of 8 on.
func part8(columns []joincore.Column, s *joincore.Segment, first, rows int) joincore.Segment {
	out := joincore.Segment{Rows: rows, Columns: make([]joincore.Vector, len(s.Columns))}
	for i, c := range columns {
		v, to := &s.Columns[i], &out.Columns[i]
		to.Heap = v.Heap
		to.Content, to.From = v.Slice(first)
		if c.Kind == joincore.Varlena {
			to.Values = v.Values[4*first : 4*(first+rows+1)]
		} else {
			to.Values = v.Values[c.Width*first : c.Width*(first+rows)]
		}
		if v.Validity != nil {
			to.Validity = v.Validity[first/8 : (first+rows+7)/8]
		}
	}
	return out
}
