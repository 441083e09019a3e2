package mirror

import (
	"encoding/binary"
	"errors"
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

	bits  [][]byte // the bitmap of each wanted column, up to rows; an entry of nil: no NULLs. nil: not made yet
	lanes []*lane  // of each wanted column
}

// view makes a relation of parts.
type view struct {
	pin      *Pin
	columns  []Wanted
	stored   []joincore.Column // of the wanted columns, before a form is made
	more     Divider
	relation joincore.Relation
	vectors  []joincore.Vector // memory for those of the segments
	copies   []copying         // that are left to do
	err      error             // there was no memory for a bitmap
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

// build makes the relation, of all rows or of a sample, and returns the number of all rows.
func (v *view) build(parts []part, sample *Sample) (total int64, err error) {
	v.vectors = make([]joincore.Vector, 0, len(parts)*len(v.columns))
	v.relation.Segments = make([]joincore.Segment, 0, len(parts))
	if err := v.makeForms(parts); err != nil {
		return 0, err
	}
	if sample != nil {
		total = v.sample(parts, sample)
	} else {
		total = v.all(parts)
	}
	if v.err != nil {
		return 0, v.err
	}
	inParallel(len(v.copies), func(i int) {
		c := &v.copies[i]
		c.from.copy(c.to, 0, 0)
	})
	return total, nil
}

// all adds all rows of the parts, and returns their number.
func (v *view) all(parts []part) (total int64) {
	limit := max(1, mostSegments/max(1, len(parts)))
	for i := range parts {
		p := &parts[i]
		if p.dead == nil && len(p.deaths) == 0 {
			v.add(p, cut{0, p.rows})
			total += int64(p.rows)
			continue
		}
		cuts, rows := cutsOf(p.live(), p.rows)
		total += int64(rows)
		n := len(cuts)
		if (n > limit || n > fewCuts && rows < leastCut*n) && len(v.columns) > 0 && v.copy(p, cuts, rows) {
			if p.segment.copies.Add(1) == mostCopies {
				v.pin.s.wake()
			}
			continue
		}
		for _, c := range cuts {
			v.add(p, c)
		}
	}
	return total
}

// makeForms makes what is missing of the wanted forms, on all cores. What mirrors have no memory for
// is made for this view only.
func (v *view) makeForms(parts []part) error {
	type task struct{ part, column int }
	var tasks []task
	for i := range v.columns {
		if v.columns[i].Form == nil {
			continue
		}
		for j := range parts {
			v.prepare(&parts[j])
			tasks = append(tasks, task{j, i})
		}
	}
	errs := make([]error, len(tasks))
	inParallel(len(tasks), func(i int) {
		p, w := &parts[tasks[i].part], &v.columns[tasks[i].column]
		src := formSource{
			storage: p.storage, column: v.stored[tasks[i].column], lane: &p.storage.lanes[w.Column], bits: p.bits[tasks[i].column], rows: p.rows, form: w.Form,
		}
		made, err := p.storage.forms.find(w).until(&src, v.pin.s.arena.allocSpare)
		if errors.Is(err, ErrMemory) && v.more.more != nil {
			made, err = new(form).until(&src, v.more.span)
		}
		p.lanes[tasks[i].column], errs[i] = made, err
	})
	return errors.Join(errs...)
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

// add adds consecutive rows of a part.
func (v *view) add(p *part, c cut) {
	seg := joincore.Segment{Rows: c.rows}
	if len(v.columns) > 0 {
		from := len(v.vectors)
		whole := p.storage.vectors != nil && c.rows == p.storage.capacity
		for i := range v.columns {
			w := &v.columns[i]
			if whole && w.Form == nil {
				v.vectors = append(v.vectors, p.storage.vectors[w.Column])
			} else {
				v.prepare(p)
				v.vectors = append(v.vectors, v.slice(p, i, c))
			}
		}
		seg.Columns = v.vectors[from:len(v.vectors):len(v.vectors)]
	}
	v.relation.Segments = append(v.relation.Segments, seg)
}

// prepare finds the lanes and the bitmaps of the wanted columns of a part.
func (v *view) prepare(p *part) {
	if p.bits != nil {
		return
	}
	p.bits, p.lanes = make([][]byte, len(v.columns)), make([]*lane, len(v.columns))
	n := (p.rows + 7) / 8
	for i := range v.columns {
		column := v.columns[i].Column
		l := &p.storage.lanes[column]
		p.lanes[i] = l // of a form, makeForms replaces it
		switch {
		case p.border == nil && p.storage.vectors[column].Validity != nil || p.border != nil && p.border[column].nulls && p.rows%8 == 0:
			p.bits[i] = l.validity[:n:n]
		case p.border != nil && p.border[column].nulls:
			bits := v.take(n)
			copy(bits, l.validity[:n-1])
			// The writer changes the byte in which the published rows end.
			if bits[n-1] = p.border[column].last; p.rows/8 < p.shown/8 {
				bits[n-1] = l.validity[n-1]
			}
			p.bits[i] = bits
		}
	}
}

// take returns memory until Close.
func (v *view) take(n int) []byte {
	if data, ok := v.pin.take(n); ok {
		return data
	}
	data, err := v.more.Take(n)
	if err != nil {
		v.err = err
		return make([]byte, n) // the relation is not returned
	}
	return data
}

// slice returns rows of a wanted column of a part. Values, offsets and heap are where they are; a
// bitmap begins at a byte, so it may have to be shifted into a copy.
func (v *view) slice(p *part, i int, at cut) (out joincore.Vector) {
	l, c, bits := p.lanes[i], v.relation.Columns[i], p.bits[i]
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
	if content := p.content(&v.columns[i]); content != 0 {
		out.Content, out.From = content, int64(at.first)
	}
	return out
}

// content returns the name of a column's values, 0 while the segment grows.
func (p *part) content(w *Wanted) uint64 {
	switch {
	case p.storage.vectors == nil:
		return 0
	case w.Form == nil:
		return p.storage.vectors[w.Column].Content
	}
	return p.storage.forms.find(w).content
}

// copy adds a copy of some rows of a part, to be filled at the end; false: there is no memory
// for it.
func (v *view) copy(p *part, cuts []cut, rows int) bool {
	v.prepare(p)
	before := len(v.copies)
	seg := joincore.Segment{Rows: rows, Columns: make([]joincore.Vector, len(v.columns))}
	for i, c := range v.relation.Columns {
		g := gather{c, p.lanes[i], p.bits[i], cuts, rows}
		to := &seg.Columns[i]
		items := packer{alloc: v.alloc}
		items.want(&to.Values, g.valueBytes())
		if c.Kind == joincore.Varlena {
			items.want(&to.Heap, g.heapBytes())
		}
		if p.bits[i] != nil {
			items.want(&to.Validity, (rows+7)/8)
		}
		spans, err := items.pack()
		v.pin.keep(spans)
		if err != nil {
			v.copies = v.copies[:before]
			return false
		}
		v.copies = append(v.copies, copying{g, to})
	}
	v.relation.Segments = append(v.relation.Segments, seg)
	return true
}

// alloc returns memory for a copy: of the mirrors, or of the reader.
func (v *view) alloc(n int) (span, error) {
	s, err := v.pin.s.arena.allocSpare(n)
	if err != nil && v.more.more != nil {
		return v.more.span(n)
	}
	return s, err
}
