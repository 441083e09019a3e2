package kept

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/sidecar/bitmap"
)

// Segments returns the rows of the blocks that are served: those of level 1, and those that
// have been proved. They are valid until Close, and in the columns of the request; without
// columns they only count rows. Call it when all participants have fed.
//
// A chunk of which all blocks are served is one segment of whole vectors. One with blocks that
// are not is cut at these into slices, or, if these would be too many, copied.
func (l *Lease) Segments() (out []joincore.Segment) {
	chunks := l.servedChunks()
	limit := mostCuts(chunks)
	var copies []*servedChunk
	for i := range chunks {
		if chunks[i].hasTooManyCuts(limit) && len(l.columns) > 0 {
			copies = append(copies, &chunks[i])
		}
	}
	inParallel(len(copies), func(i int) { l.compact(copies[i]) })
	segments := 0
	for i := range chunks {
		c := &chunks[i]
		if c.first = segments; c.copy != nil || len(l.columns) == 0 {
			segments++
		} else {
			segments += len(c.cuts)
		}
	}
	out = make([]joincore.Segment, segments)
	vectors := make([]joincore.Vector, segments*len(l.columns)) // of all segments
	// The pieces of a large table are in no cache, so cores wait for memory here: together they
	// wait less.
	inParallel((len(chunks)+chunksAtOnce-1)/chunksAtOnce, func(i int) {
		for j := i * chunksAtOnce; j < min((i+1)*chunksAtOnce, len(chunks)); j++ {
			l.put(&chunks[j], out, vectors)
		}
	})
	return out
}

// chunksAtOnce is how many chunks are worth a goroutine.
const chunksAtOnce = 64

// put puts the segments of a chunk in their place among all.
func (l *Lease) put(c *servedChunk, all []joincore.Segment, vectors []joincore.Vector) {
	switch {
	case len(l.columns) == 0:
		all[c.first] = joincore.Segment{Rows: c.rows}
		return
	case c.copy != nil:
		all[c.first] = *c.copy
		return
	}
	n := len(l.columns)
	for i := range c.cuts {
		at := c.first + i
		all[at] = l.segment(c, &c.cuts[i], vectors[at*n:(at+1)*n:(at+1)*n])
	}
}

// servedChunk is what a lease serves of a chunk.
type servedChunk struct {
	pieces []*piece
	blocks blockSet
	rows   int
	cuts   []cut
	copy   *joincore.Segment // of all rows; nil: there is none
	first  int               // number of its first segment
}

// cut is consecutive rows of a chunk, in which all blocks are served.
type cut struct {
	rows  int
	first []int // their first row in each piece; of a whole chunk: none
}

// servedChunks returns the chunks with rows to serve in their order.
func (l *Lease) servedChunks() []servedChunk {
	out := make([]servedChunk, 0, l.leased)
	l.s.mu.Lock()
	l.each(func(_ int, c *leased) { out = append(out, servedChunk{pieces: c.pieces, blocks: c.served()}) })
	l.s.mu.Unlock()
	wholes := make([]cut, len(out))
	for i := range out {
		c := &out[i]
		if c.isWhole() {
			c.rows = c.pieces[0].layout.total
			wholes[i].rows, c.cuts = c.rows, wholes[i:i+1:i+1]
		} else {
			c.cut()
		}
	}
	return slices.DeleteFunc(out, func(c servedChunk) bool { return c.rows == 0 })
}

// isWhole reports whether all blocks of all pieces are served.
func (c *servedChunk) isWhole() bool {
	for i, p := range c.pieces {
		if i > 0 && p.layout == c.pieces[i-1].layout {
			continue
		}
		if p.layout.have != c.blocks {
			return false
		}
	}
	return true
}

// cut finds the rows of the served blocks in as few parts as there are. Pieces with different
// layouts have the same rows of a served block, but other blocks between them.
func (c *servedChunk) cut() {
	starts := make([][]int32, len(c.pieces))
	for i, p := range c.pieces {
		if i > 0 && p.layout == c.pieces[0].layout {
			starts[i] = starts[0]
		} else {
			starts[i] = p.layout.starts()
		}
	}
	var last *cut
	c.blocks.each(func(at int) {
		rows := int(starts[0][at+1] - starts[0][at])
		if rows == 0 {
			return
		}
		c.rows += rows
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
		c.cuts = append(c.cuts, next)
		last = &c.cuts[len(c.cuts)-1]
	})
}

// A chunk of which most blocks are served may have up to mostSlices slices, and any chunk
// fewSlices; otherwise, a slice must have leastSlice blocks on average, which may be 250 rows.
// On cores each slice costs 1.5 µs, here and in the join, and a copy about 4 ns for each value,
// so these are as good as slices even smaller; but transfers to devices suffer from small ones.
const (
	mostSlices = ChunkBlocks / 8
	fewSlices  = 4
	leastSlice = 4
)

// hasTooManyCuts reports whether a copy of the rows is better than slices.
func (c *servedChunk) hasTooManyCuts(limit int) bool {
	n := len(c.cuts)
	return n > limit || n > fewSlices && c.blocks.count() < leastSlice*n
}

// mostCuts returns the number of cuts of a chunk from which on its rows are copied.
func mostCuts(chunks []servedChunk) int {
	largest := 0
	for i := range chunks {
		for j := range chunks[i].cuts {
			largest = max(largest, chunks[i].cuts[j].rows)
		}
	}
	return min(mostSlices, max(1, mostPositions/positions(max(1, len(chunks)), largest)))
}

// segment returns a cut as slices of the pieces, with memory for its vectors.
func (l *Lease) segment(c *servedChunk, cut *cut, vectors []joincore.Vector) joincore.Segment {
	seg := joincore.Segment{Rows: cut.rows, Columns: vectors}
	for i := range l.columns {
		p := c.pieces[i]
		if cut.rows == p.layout.total {
			seg.Columns[i] = p.vector // all of the span
			continue
		}
		seg.Columns[i] = l.slice(p, l.request.Columns[i].Physical, cut.first[i], cut.rows)
	}
	return seg
}

// slice returns rows of a piece, under the name of its content. Values, offsets and heap are
// where they are in the piece; a validity bitmap begins at a byte, so it may have to be shifted
// into a copy.
func (l *Lease) slice(p *piece, c joincore.Column, first, rows int) (v joincore.Vector) {
	v.Content, v.From = p.vector.Slice(first)
	if c.Kind == joincore.Varlena {
		v.Values = p.vector.Values[4*first : 4*(first+rows+1)]
		v.Heap = p.vector.Heap[:offset(&p.vector, first+rows)]
	} else {
		v.Values = p.vector.Values[c.Width*first : c.Width*(first+rows)]
	}
	switch bits := p.vector.Validity; {
	case bits == nil || bitmap.AllSet(bits, first, rows):
	case first%8 == 0:
		v.Validity = bits[first/8 : (first+rows+7)/8]
	default:
		n := int64(rows+7) / 8
		data, ok := l.temporary(n, nil)
		if !ok {
			// Cores can read it there; workers, which read extents, refuse it.
			data = make([]byte, n)
		}
		v.Validity = data[:n]
		bitmap.Copy(v.Validity, 0, bits, first, rows)
	}
	return v
}

// compact copies the rows of a chunk, if there is memory.
func (l *Lease) compact(c *servedChunk) {
	seg := joincore.Segment{Columns: make([]joincore.Vector, len(l.columns))}
	for i, p := range c.pieces {
		physical := l.request.Columns[i].Physical
		runs := make([]run, 0, len(c.cuts))
		for j := range c.cuts {
			runs = append(runs, readRun(physical, &p.vector, c.cuts[j].first[i], c.cuts[j].rows, true))
		}
		shape := shapeOf(physical, runs)
		data, ok := l.temporary(shape.bytes(), p)
		if !ok {
			return
		}
		seg.Rows, seg.Columns[i] = shape.rows, shape.vector(data)
		if err := fill(physical, &seg.Columns[i], runs); err != nil {
			panic(err) // published values are well-formed
		}
	}
	c.copy = &seg
}

// temporary returns memory until Close, in an extent, so that workers can read it. It evicts
// what is worth less per byte than a piece; nil: nothing.
func (l *Lease) temporary(n int64, than *piece) ([]byte, bool) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	density := 0.0
	if than != nil && than.chunk != nil {
		density = l.s.worth(than, l.request.Now) / float64(than.bytes)
	}
	sp, err := l.s.allocate(&l.s.scratch, n, 0, density, l.request.Now)
	if err != nil {
		return nil, false
	}
	l.scratch = append(l.scratch, sp)
	return sp.data, true
}

// inParallel calls f with 0 to n-1, on all cores.
func inParallel(n int, f func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wait.Wait()
}
