package mirror

import (
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/sidecar/bitmap"
)

// part is what a pin sees of a segment.
type part struct {
	segment *segment
	storage *storage
	rows    int
	shown   int      // rows that were published when the part was taken, at least as many
	border  []border // of a segment that grows; else nil
	dead    []uint64 // deleted rows of the first ones
	deaths  []death  // others
}

// view makes a relation of parts.
type view struct {
	pin      *Pin
	all      []joincore.Column // of the table
	columns  []int             // that are wanted
	relation joincore.Relation
	vectors  []joincore.Vector // memory for those of the segments
	copies   []copying         // that are left to do
}

// copying is a column of a copy.
type copying struct {
	from gather
	to   *joincore.Vector
}

// mostSegments bounds the segments of a relation: the join core numbers rows by segment and row
// with 32 bits, of which it uses 30 here.
const mostSegments = 1 << (30 - segmentBits)

// Up to fewCuts slices of a segment are better than a copy of its rows, and any number that have
// leastCut rows on average: on cores, a slice costs 1.5 µs, and a copy about 4 ns a value.
const (
	fewCuts  = 4
	leastCut = 250
)

func (v *view) build(parts []part) {
	v.vectors = make([]joincore.Vector, 0, len(parts)*len(v.columns))
	v.relation.Segments = make([]joincore.Segment, 0, len(parts))
	limit := max(1, mostSegments/max(1, len(parts)))
	for i := range parts {
		p := &parts[i]
		if p.dead == nil && len(p.deaths) == 0 {
			v.add(p, nil, cut{0, p.rows})
			continue
		}
		live := p.live()
		cuts, rows := cutsOf(live, p.rows)
		n := len(cuts)
		if (n > limit || n > fewCuts && rows < leastCut*n) && len(v.columns) > 0 && v.copy(p, cuts, rows) {
			continue
		}
		var bits [][]byte
		for _, c := range cuts {
			if bits == nil {
				bits = v.bitmaps(p)
			}
			v.add(p, bits, c)
		}
	}
	inParallel(len(v.copies), func(i int) {
		c := &v.copies[i]
		c.from.copy(c.to, 0, 0)
	})
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

// add adds consecutive rows of a part. bits are the bitmaps of the part; nil: not made yet.
func (v *view) add(p *part, bits [][]byte, c cut) {
	seg := joincore.Segment{Rows: c.rows}
	if len(v.columns) > 0 {
		from := len(v.vectors)
		whole := p.storage.vectors != nil && c.rows == p.storage.capacity
		if !whole && bits == nil {
			bits = v.bitmaps(p)
		}
		for i, column := range v.columns {
			if whole {
				v.vectors = append(v.vectors, p.storage.vectors[column])
			} else {
				v.vectors = append(v.vectors, v.slice(&p.storage.lanes[column], v.all[column], bits[i], c))
			}
		}
		seg.Columns = v.vectors[from:len(v.vectors):len(v.vectors)]
	}
	v.relation.Segments = append(v.relation.Segments, seg)
}

// bitmaps returns the bitmap of each wanted column of a part, up to its rows; nil: no NULLs.
func (v *view) bitmaps(p *part) [][]byte {
	out := make([][]byte, len(v.columns))
	n := (p.rows + 7) / 8
	for i, column := range v.columns {
		l := &p.storage.lanes[column]
		switch {
		case p.border == nil && p.storage.vectors[column].Validity != nil || p.border != nil && p.border[column].nulls && p.rows%8 == 0:
			out[i] = l.validity[:n:n]
		case p.border != nil && p.border[column].nulls:
			out[i] = v.take(n)
			copy(out[i], l.validity[:n-1])
			// The writer changes the byte in which the published rows end.
			if out[i][n-1] = p.border[column].last; p.rows/8 < p.shown/8 {
				out[i][n-1] = l.validity[n-1]
			}
		}
	}
	return out
}

// take returns memory until Close.
func (v *view) take(n int) []byte {
	if data, ok := v.pin.take(n); ok {
		return data
	}
	return make([]byte, n) // cores can read it there; workers refuse it
}

// slice returns rows of a lane. Values, offsets and heap are where they are; a bitmap begins at a
// byte, so it may have to be shifted into a copy.
func (v *view) slice(l *lane, c joincore.Column, bits []byte, at cut) (out joincore.Vector) {
	end := at.first + at.rows
	if c.Kind == joincore.Varlena {
		out.Values = l.values[4*at.first : 4*(end+1) : 4*(end+1)]
		heap := binary.LittleEndian.Uint32(l.values[4*end:])
		out.Heap = l.heap[:heap:heap]
	} else {
		out.Values = l.values[c.Width*at.first : c.Width*end : c.Width*end]
	}
	switch {
	case bits == nil || bitmap.AllSet(bits, at.first, at.rows):
	case at.first%8 == 0:
		out.Validity = bits[at.first/8 : (end+7)/8]
	default:
		out.Validity = v.take((at.rows + 7) / 8)
		bitmap.Copy(out.Validity, 0, bits, at.first, at.rows)
	}
	return out
}

// copy adds a copy of the live rows of a part, to be filled at the end; false: there is no memory
// for it.
func (v *view) copy(p *part, cuts []cut, rows int) bool {
	bits := v.bitmaps(p)
	before := len(v.copies)
	seg := joincore.Segment{Rows: rows, Columns: make([]joincore.Vector, len(v.columns))}
	for i, column := range v.columns {
		g := gather{v.all[column], &p.storage.lanes[column], bits[i], cuts, rows}
		to := &seg.Columns[i]
		items := packer{alloc: v.pin.s.arena.allocSpare}
		items.want(&to.Values, g.valueBytes())
		if c := v.all[column]; c.Kind == joincore.Varlena {
			items.want(&to.Heap, g.heapBytes())
		}
		if bits[i] != nil {
			items.want(&to.Validity, (rows+7)/8)
		}
		spans, err := items.pack()
		v.pin.scratch = append(v.pin.scratch, spans...)
		if err != nil {
			v.copies = v.copies[:before]
			return false
		}
		v.copies = append(v.copies, copying{g, to})
	}
	if p.segment.copies.Add(1) == mostCopies {
		v.pin.s.wake()
	}
	v.relation.Segments = append(v.relation.Segments, seg)
	return true
}
