package kept

import (
	"slices"

	"gpujoin/joincore"
)

// Segments returns the rows of the blocks that are served: those of level 1, and those that
// have been proved. They are valid until Close, and in the columns of the request; without
// columns they only count rows. Call it when all participants have fed.
func (l *Lease) Segments() (out []joincore.Segment) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	numbers := make([]int, 0, len(l.chunks))
	for n := range l.chunks {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		out = l.appendSegments(out, l.chunks[n])
	}
	return out
}

// cut is consecutive rows of a chunk, in which all blocks are served.
type cut struct {
	rows  int
	first []int // their first row in each piece
}

// cuts returns the rows of the served blocks in as few parts as there are. Pieces with
// different layouts have the same rows of a served block, but other blocks between them.
func (c *leased) cuts() (out []cut) {
	starts := make([][]int32, len(c.pieces))
	for i, p := range c.pieces {
		if i > 0 && p.layout == c.pieces[0].layout {
			starts[i] = starts[0]
		} else {
			starts[i] = p.layout.starts()
		}
	}
	var last *cut
	c.served().each(func(at int) {
		rows := int(starts[0][at+1] - starts[0][at])
		if rows == 0 {
			return
		}
		joins := last != nil
		for i := range starts {
			joins = joins && last.first[i]+last.rows == int(starts[i][at])
		}
		if joins {
			last.rows += rows
			return
		}
		next := cut{rows, make([]int, len(starts))}
		for i := range starts {
			next.first[i] = int(starts[i][at])
		}
		out = append(out, next)
		last = &out[len(out)-1]
	})
	return out
}

func (l *Lease) appendSegments(out []joincore.Segment, c *leased) []joincore.Segment {
	for _, cut := range c.cuts() {
		seg := joincore.Segment{Rows: cut.rows, Columns: make([]joincore.Vector, len(l.columns))}
		for i := range l.columns {
			p := c.pieces[i]
			if cut.rows == p.layout.total {
				seg.Columns[i] = p.vector // all of the span: the place for its content id
				continue
			}
			seg.Columns[i] = l.slice(p, l.t.columns[l.columns[i]].Physical, cut.first[i], cut.rows)
		}
		out = append(out, seg)
	}
	return out
}

// slice returns rows of a piece. Values, offsets and heap are where they are in the piece; a
// validity bitmap begins at a byte, so it may have to be shifted into a copy.
func (l *Lease) slice(p *piece, c joincore.Column, first, rows int) (v joincore.Vector) {
	if c.Kind == joincore.Varlena {
		v.Values = p.vector.Values[4*first : 4*(first+rows+1)]
		v.Heap = p.vector.Heap[:offset(&p.vector, first+rows)]
	} else {
		v.Values = p.vector.Values[c.Width*first : c.Width*(first+rows)]
	}
	switch bits := p.vector.Validity; {
	case bits == nil || allSet(bits, first, rows):
	case first%8 == 0:
		v.Validity = bits[first/8 : (first+rows+7)/8]
	default:
		v.Validity = l.temporary((rows + 7) / 8)
		copyBits(v.Validity, 0, bits, first, rows)
	}
	return v
}

// temporary returns memory until Close: in an extent, so that workers can read it, or else,
// where the limit allows no more, on the heap.
func (l *Lease) temporary(n int) []byte {
	sp, err := l.s.allocate(int64(n), 0, 0, l.request.Now)
	if err != nil {
		return make([]byte, n)
	}
	sp.extent.pins++
	l.scratch = append(l.scratch, sp)
	return sp.data[:n]
}
