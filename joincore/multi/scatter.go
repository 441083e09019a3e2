package multi

import (
	"context"
	"encoding/binary"
	"fmt"

	"gpujoin/joincore"
)

// scatter is the second pass over the rows of one member: it writes them to blocks.
type scatter struct {
	x         *coordinator
	from      *joincore.Relation
	partition []byte // of each row
	block     []int  // of each partition: the number of its block, or -1
	to        []joincore.Segment
	next      []int // rows written to each block
}

// column writes a column, which is at a position of the source and of the blocks.
func (s *scatter) column(ctx context.Context, c joincore.Column, from, to int) error {
	clear(s.next)
	w := columnWriter{column: c, to: make([]*joincore.Vector, len(s.to)), used: make([]int, len(s.to))}
	for i := range s.to {
		v := &s.to[i].Columns[to]
		w.to[i] = v
		clear(v.Validity)
		if c.Kind == joincore.Varlena {
			clear(v.Values[:4])
		}
	}
	before := 0
	for i := range s.from.Segments {
		segment := &s.from.Segments[i]
		v := &segment.Columns[from]
		for first := 0; first < segment.Rows; first += chunk {
			if err := s.x.pause(ctx); err != nil {
				return err
			}
			for row := first; row < min(first+chunk, segment.Rows); row++ {
				b := s.block[partitionAt(s.partition, before+row)]
				if b < 0 {
					continue
				}
				if err := w.write(b, s.next[b], v, row); err != nil {
					return err
				}
				s.next[b]++
			}
		}
		before += segment.Rows
	}
	return nil
}

// columnWriter writes values of one column.
type columnWriter struct {
	column joincore.Column
	to     []*joincore.Vector // by block
	used   []int              // heap bytes of each block
}

// write writes a value of v as row at of a block.
func (w *columnWriter) write(block, at int, v *joincore.Vector, row int) error {
	to := w.to[block]
	isNull := v.Null(row)
	if !isNull && to.Validity != nil {
		to.Validity[at/8] |= 1 << (at % 8)
	}
	switch width := w.column.Width; {
	case w.column.Kind == joincore.Varlena:
		if !isNull {
			value := v.Variable(row)
			if len(value) > len(to.Heap)-w.used[block] {
				return errChanged
			}
			w.used[block] += copy(to.Heap[w.used[block]:], value)
		}
		binary.LittleEndian.PutUint32(to.Values[4*at+4:], uint32(w.used[block]))
	case width == 8:
		binary.LittleEndian.PutUint64(to.Values[8*at:], binary.LittleEndian.Uint64(v.Values[8*row:]))
	case width == 4:
		binary.LittleEndian.PutUint32(to.Values[4*at:], binary.LittleEndian.Uint32(v.Values[4*row:]))
	default:
		copy(to.Values[width*at:width*(at+1)], v.Values[width*row:width*(row+1)])
	}
	return nil
}

// errChanged says that values became longer between the two passes.
var errChanged = fmt.Errorf("values have changed while they were read: %w", joincore.ErrInvalid)
