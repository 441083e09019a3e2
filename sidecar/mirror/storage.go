package mirror

import (
	"encoding/binary"
	"fmt"
	"math"

	"gpujoin/joincore"
)

// storage is the memory of a segment's columns. While its segment grows, one writer appends to
// it, behind all that has been published; readers see slices up to there.
type storage struct {
	lanes    []lane
	capacity int // rows
	spans    []span
	vectors  []joincore.Vector // of all rows, once it is sealed
	refs     int               // of the segment that shows it, and of readers; guarded by Server.mu
	forms    forms
}

// lane is the arrays of one column.
type lane struct {
	values   []byte // Fixed: capacity values; Varlena: capacity+1 offsets
	heap     []byte // Varlena
	validity []byte // of a column that may have NULLs, until it is sealed without one
	used     int    // bytes of the heap; the writer's
	nulls    bool   // some bit of validity may be 0; the writer's
}

// sizes are the bytes of heap of each column, and which have a bitmap.
type sizes struct {
	rows  int
	heaps []int
	nulls []bool
	spare bool // the mirror can do without it
}

// newStorage takes memory for rows of columns. All bits of its bitmaps are 1.
func newStorage(a *arena, columns []joincore.Column, z sizes) (*storage, error) {
	st := &storage{lanes: make([]lane, len(columns)), capacity: z.rows}
	p := packer{alloc: a.alloc, most: a.size / 8}
	if z.spare {
		p.alloc = a.allocSpare
	}
	for i, c := range columns {
		l := &st.lanes[i]
		values := z.rows
		if c.Kind == joincore.Varlena {
			values++
			p.want(&l.heap, z.heaps[i])
		}
		p.want(&l.values, values*c.StoredWidth())
		if z.nulls[i] {
			p.want(&l.validity, (z.rows+7)/8)
		}
	}
	spans, err := p.pack()
	if err != nil {
		a.free(spans)
		return nil, err
	}
	st.spans = spans
	for i, c := range columns {
		l := &st.lanes[i]
		for j := range l.validity {
			l.validity[j] = 0xff
		}
		if c.Kind == joincore.Varlena {
			binary.LittleEndian.PutUint32(l.values, 0)
		}
	}
	return st, nil
}

// packer lays arrays out in spans. Small arrays share one: segments of small tables have many.
type packer struct {
	alloc func(int) (span, error)
	most  int // bytes of a span with several arrays
	items []packed
}

type packed struct {
	to    *[]byte
	bytes int
}

func (p *packer) want(to *[]byte, n int) { p.items = append(p.items, packed{to, n}) }

// pack returns the spans, after an error too.
func (p *packer) pack() (spans []span, err error) {
	for from := 0; from < len(p.items); {
		to, n := from, 0
		for to < len(p.items) && (to == from || n+alignUp(p.items[to].bytes, spanAlign) <= p.most) {
			n += alignUp(p.items[to].bytes, spanAlign)
			to++
		}
		s, err := p.alloc(n)
		if err != nil {
			return spans, err
		}
		spans = append(spans, s)
		at := 0
		for _, item := range p.items[from:to] {
			*item.to = s.data[at : at+item.bytes : at+item.bytes]
			at += alignUp(item.bytes, spanAlign)
		}
		from = to
	}
	return spans, nil
}

// copyFrom copies the first rows of a storage, all of whose values fit.
func (st *storage) copyFrom(o *storage, columns []joincore.Column, rows int) {
	for i, c := range columns {
		to, from := &st.lanes[i], &o.lanes[i]
		to.used, to.nulls = from.used, from.nulls
		if c.Kind == joincore.Varlena {
			copy(to.values, from.values[:4*(rows+1)])
			copy(to.heap, from.heap[:from.used])
		} else {
			copy(to.values, from.values[:rows*c.Width])
		}
		if to.validity != nil {
			copy(to.validity, from.validity[:(rows+7)/8])
		}
	}
}

// seal makes the vectors of all rows, after which nothing is appended.
func (st *storage) seal(columns []joincore.Column) {
	st.vectors = make([]joincore.Vector, len(columns))
	for i := range columns {
		l := &st.lanes[i]
		st.vectors[i] = joincore.Vector{Values: l.values, Heap: l.heap}
		if l.nulls {
			st.vectors[i].Validity = l.validity
		}
		st.vectors[i].Content = joincore.NewContent()
	}
}

// contents names the contents of the vectors and of their forms.
func (st *storage) contents(each func(content uint64)) {
	for i := range st.vectors {
		each(st.vectors[i].Content)
	}
	st.forms.mu.Lock()
	defer st.forms.mu.Unlock()
	for _, f := range st.forms.made {
		each(f.content)
	}
}

// forget says that the vectors are gone.
func (st *storage) forget(gone func(uint64)) {
	if gone == nil {
		return
	}
	for i := range st.vectors {
		gone(st.vectors[i].Content)
	}
}

// value returns the bytes of a value.
func (l *lane) value(c joincore.Column, row int) []byte {
	if c.Kind == joincore.Fixed {
		return l.values[c.Width*row : c.Width*(row+1)]
	}
	offsets := l.values[4*row:][:8]
	return l.heap[binary.LittleEndian.Uint32(offsets):binary.LittleEndian.Uint32(offsets[4:])]
}

// null reports whether a value is NULL.
func (l *lane) null(row int) bool {
	return l.nulls && l.validity[row/8]>>(row%8)&1 == 0
}

// setNull writes the bit of a value that is appended. A rolled back one may have been there.
func (l *lane) setNull(row int, null bool) {
	switch {
	case null:
		l.validity[row/8] &^= 1 << (row % 8)
		l.nulls = true
	case l.nulls:
		l.validity[row/8] |= 1 << (row % 8)
	}
}

// cutTo drops the values behind some rows.
func (l *lane) cutTo(c joincore.Column, rows int) {
	if c.Kind == joincore.Varlena {
		l.used = int(binary.LittleEndian.Uint32(l.values[4*rows:]))
	}
}

// mostRows returns how many rows a segment may have: each array has to fit an extent. They are a
// few less than 2^16, because there is one offset more than rows: arrays of offsets too fill
// extents without a rest.
func mostRows(extent int, columns []joincore.Column) int {
	n := segmentRows - spanAlign/4
	for _, c := range columns {
		if c.Kind == joincore.Varlena {
			n = min(n, extent/4-1)
		} else {
			n = min(n, extent/c.Width)
		}
	}
	return n
}

// heapLimit is the most bytes of a heap in an extent: offsets have 32 bits.
func heapLimit(extent int) int { return min(extent, math.MaxUint32/2) }

func tooLong(n, most int) error {
	return fmt.Errorf("%w: a value of %d bytes, where %d are the most", ErrTooLong, n, most)
}
