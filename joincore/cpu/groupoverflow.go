package cpu

import "gpujoin/joincore"

// Rows whose groups a table does not take are partitioned by fanBits of their
// hash: as rows, in columns, with their keys and arguments. A partition of too
// many groups is partitioned again, by the next bits, up to deepest times.
const (
	fanBits = 8
	fanOut  = 1 << fanBits
	deepest = 5
)

// rowBlock holds rows of a source.
type rowBlock struct {
	block
	source     int
	rows, size int
	nulls      bool   // false: no part of a key is NULL, and all arguments have values
	heap       []byte // the bytes of keys and arguments, row by row
	used       int
}

// A partition's blocks begin small: there are many partitions.
const (
	firstBlockRows = 2 * rowUnit
	mostBlockRows  = 64 * rowUnit
)

func (b *rowBlock) append(m *joincore.Account, bytes []byte) error {
	if len(b.heap)-b.used < len(bytes) {
		heap, err := m.Alloc(int64(max(2*len(b.heap), 2*len(bytes), 16*b.size)))
		if err != nil {
			return err
		}
		copy(heap, b.heap[:b.used])
		m.Free(b.heap)
		b.heap = heap
	}
	b.used += copy(b.heap[b.used:], bytes)
	return nil
}

func (b *rowBlock) release(m *joincore.Account) {
	b.block.release(m)
	m.Free(b.heap)
	b.heap = nil
}

// replay groups the rows of a block.
func (g *grouper) replay(b *rowBlock) error {
	s := &g.plan.sources[b.source]
	heap := 0
	for at := 0; at < b.rows; at += g.plan.dev.chunk {
		end := min(at+g.plan.dev.chunk, b.rows)
		heap = g.read(b, s, at, end, heap)
		if err := g.add(s, b.source); err != nil {
			return err
		}
	}
	return nil
}

// read makes rows of a block the chunk, where they are. heap is where their
// bytes begin; it returns where those of the next rows do.
func (g *grouper) read(b *rowBlock, s *source, at, end, heap int) int {
	p, k := g.plan, &g.keys
	k.use(end - at)
	c64, c32, c8 := b.c64, b.c32, b.c8
	for w := range k.words {
		k.words[w] = c64[w][at:end]
	}
	c64 = c64[len(k.words):]
	if p.exact {
		if b.nulls {
			k.tags = c32[0][at:end]
		}
		c32 = c32[1:]
	}
	lengths := c32[:p.spans]
	c32 = c32[p.spans:]
	if b.source == 0 {
		for i := range k.carry {
			k.carry[i] = c32[i][at:end]
		}
		c32 = c32[len(k.carry):]
	}
	values := c32[:s.spans]
	for i, a := range s.arguments {
		c := &g.arguments[a]
		c.v, c.high, c.spans = nil, nil, nil
		switch words := p.arguments[a].wordsOf(); {
		case p.arguments[a].span >= 0:
			if c.ownSpans == nil {
				c.ownSpans = make([][]byte, p.dev.chunk)
			}
			c.spans = c.ownSpans[:end-at]
		case words > 0:
			c.v = c64[0][at:end]
			if words == 2 {
				c.high = c64[1][at:end]
			}
			c64 = c64[words:]
		}
		c.skip = nil
		if b.nulls {
			c.skip = c8[i][at:end]
		}
	}
	if p.spans+s.spans > 0 {
		heap = g.readBytes(b, s, lengths, values, at, end, heap)
	}
	g.hash()
	return heap
}

func (g *grouper) readBytes(b *rowBlock, s *source, lengths, values [][]uint32, at, end, heap int) int {
	next := func(n uint32) []byte {
		bytes := b.heap[heap : heap+int(n) : heap+int(n)]
		heap += int(n)
		return bytes
	}
	for row := at; row < end; row++ {
		for i, l := range lengths {
			g.keys.spans[i][row-at] = next(l[row])
		}
		for _, a := range s.arguments {
			if span := g.plan.arguments[a].span; span >= 0 {
				g.arguments[a].spans[row-at] = next(values[span][row])
			}
		}
	}
	return heap
}

// overflow holds the rows of each partition. Rows of a chunk are first given their
// places at the ends of the partitions' last blocks. Then they are written, one
// column at a time: the lines at the ends of one column of all partitions fit a
// core's first cache.
type overflow struct {
	parts [fanOut][]*rowBlock

	source int               // whose rows the ends are for
	last   [fanOut]*rowBlock // nil: none of this source
	next   [fanOut]uint32    // where the next row goes
	size   [fanOut]uint32    // of the last blocks; 0: there is none
	c64    []*columnEnds[uint64]
	c32    []*columnEnds[uint32]
	c8     []*columnEnds[uint8]
	nulls  bool     // blocks note NULLs from now on
	to     []uint32 // by row of the chunk: its place
	of     []uint8  // and its partition
}

// columnEnds are one column of the last block of each partition.
type columnEnds[T word] [fanOut][]T

func newOverflow(chunk int) *overflow {
	return &overflow{source: -1, to: make([]uint32, chunk), of: make([]uint8, chunk)}
}

// begin makes the ends those of a source, without blocks yet.
func (o *overflow) begin(source int, l layout) {
	o.source, o.size, o.next = source, [fanOut]uint32{}, [fanOut]uint32{}
	o.last, o.nulls = [fanOut]*rowBlock{}, false
	o.c64, o.c32, o.c8 = newEnds(o.c64, l.n64), newEnds(o.c32, l.n32), newEnds(o.c8, l.n8)
}

func newEnds[T word](e []*columnEnds[T], n int) []*columnEnds[T] {
	for len(e) < n {
		e = append(e, new(columnEnds[T]))
	}
	return e[:n]
}

// partition appends rows to their partitions; sel nil means all of the chunk.
func (g *grouper) partition(source int, sel []uint32) error {
	if g.overflow == nil {
		g.overflow = newOverflow(g.plan.dev.chunk)
		g.a.overflowed.Store(true)
	}
	o := g.overflow
	if o.source != source {
		o.begin(source, g.plan.sources[source].rows)
	}
	if !o.nulls && g.hasNulls(&g.plan.sources[source]) {
		o.noteNulls(g.plan)
	}
	defer o.count()
	n := g.keys.n
	if sel != nil {
		n = len(sel)
	}
	for from := 0; from < n; {
		to := o.place(g.keys.hash, sel, g.level*fanBits, from, n)
		if to > from {
			if err := g.scatter(sel, from, to); err != nil {
				return err
			}
		}
		if to < n {
			if err := g.openBlock(int(o.of[to])); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// hasNulls says that a row of the chunk may have a NULL.
func (g *grouper) hasNulls(s *source) bool {
	for _, a := range s.arguments {
		if g.arguments[a].skip != nil {
			return true
		}
	}
	return g.keys.tags != nil
}

// noteNulls makes the last blocks, and those after them, note which rows have NULLs.
// Rows before have none.
func (o *overflow) noteNulls(p *groupPlan) {
	o.nulls = true
	for i, b := range o.last {
		if b == nil {
			continue
		}
		b.nulls = true
		if p.exact {
			clear(b.c32[0][:o.next[i]])
		}
		for _, skip := range b.c8 {
			clear(skip[:o.next[i]])
		}
	}
}

// place gives rows their places, until the block of one's partition is full. It
// returns that row, whose partition is in of, or n.
func (o *overflow) place(hash []uint64, sel []uint32, skip uint, from, n int) int {
	const shift = 64 - fanBits
	of, to := o.of[:n], o.to[:n]
	if sel == nil {
		hash = hash[:n]
		for i := from; i < n; i++ {
			p := uint8(hash[i] << skip >> shift)
			t := o.next[p]
			of[i], to[i] = p, t
			if t == o.size[p] {
				return i
			}
			o.next[p] = t + 1
		}
		return n
	}
	sel = sel[:n]
	for i := from; i < n; i++ {
		p := uint8(hash[sel[i]] << skip >> shift)
		t := o.next[p]
		of[i], to[i] = p, t
		if t == o.size[p] {
			return i
		}
		o.next[p] = t + 1
	}
	return n
}

// openBlock gives a partition a block for more rows.
func (g *grouper) openBlock(p int) error {
	o, size := g.overflow, firstBlockRows
	if last := o.last[p]; last != nil {
		last.rows = last.size
		size = min(2*last.size, mostBlockRows)
	}
	memory, err := g.plan.sources[o.source].rows.newBlock(g.plan.memory, size)
	if err != nil {
		return err
	}
	b := &rowBlock{block: memory, source: o.source, size: size, nulls: o.nulls}
	o.parts[p] = append(o.parts[p], b)
	o.last[p], o.next[p], o.size[p] = b, 0, uint32(size)
	for i, c := range b.c64 {
		o.c64[i][p] = c
	}
	for i, c := range b.c32 {
		o.c32[i][p] = c
	}
	for i, c := range b.c8 {
		o.c8[i][p] = c
	}
	return nil
}

// count notes in each block how many rows it has.
func (o *overflow) count() {
	for p, b := range o.last {
		if b != nil {
			b.rows = int(o.next[p])
		}
	}
}

// scatter writes the rows [from, to) of sel to their places.
func (g *grouper) scatter(sel []uint32, from, to int) error {
	p, o := g.plan, g.overflow
	s := &p.sources[o.source]
	at := places{of: o.of[from:to], to: o.to[from:to], first: from}
	if sel != nil {
		at.sel = sel[from:to]
	}
	c64, c32 := o.c64, o.c32
	for _, words := range g.keys.words {
		put(c64[0], words, &at)
		c64 = c64[1:]
	}
	if p.exact {
		if o.nulls {
			put(c32[0], g.keys.tags, &at)
		}
		c32 = c32[1:]
	}
	for _, spans := range g.keys.spans {
		putLengths(c32[0], spans, &at)
		c32 = c32[1:]
	}
	if o.source == 0 {
		for _, ids := range g.keys.carry {
			put(c32[0], ids, &at)
			c32 = c32[1:]
		}
	}
	for i, a := range s.arguments {
		c, words := &g.arguments[a], p.arguments[a].wordsOf()
		switch {
		case p.arguments[a].span >= 0:
			putLengths(c32[0], c.spans, &at)
			c32 = c32[1:]
		case words > 0:
			put(c64[0], c.v, &at)
			switch {
			case words == 1:
			case c.high != nil:
				put(c64[1], c.high, &at)
			default:
				putSigns(c64[1], c.v, &at)
			}
			c64 = c64[words:]
		}
		if o.nulls {
			put(o.c8[i], c.skip, &at)
		}
	}
	if p.spans+s.spans == 0 {
		return nil
	}
	return g.scatterBytes(s, &at)
}

// places are where rows of a chunk go.
type places struct {
	of    []uint8
	to    []uint32
	sel   []uint32 // their numbers in the chunk; nil: from first on
	first int
}

// row returns the number of the i-th row in the chunk.
func (at *places) row(i int) int {
	if at.sel == nil {
		return at.first + i
	}
	return int(at.sel[i])
}

// put writes a column; src nil: zeros.
func put[T word](dst *columnEnds[T], src []T, at *places) {
	of, to := at.of, at.to[:len(at.of)]
	switch {
	case src == nil:
		for i, p := range of {
			dst[p][to[i]] = 0
		}
	case at.sel == nil:
		src = src[at.first:][:len(of)]
		for i, p := range of {
			dst[p][to[i]] = src[i]
		}
	default:
		sel := at.sel[:len(of)]
		for i, p := range of {
			dst[p][to[i]] = src[sel[i]]
		}
	}
}

// putSigns writes the high words of values that fit 8 bytes.
func putSigns(dst *columnEnds[uint64], v []uint64, at *places) {
	for i, p := range at.of {
		dst[p][at.to[i]] = uint64(int64(v[at.row(i)]) >> 63)
	}
}

func putLengths(dst *columnEnds[uint32], spans [][]byte, at *places) {
	for i, p := range at.of {
		dst[p][at.to[i]] = uint32(len(spans[at.row(i)]))
	}
}

// scatterBytes appends the bytes of rows to their blocks, one row after the other.
func (g *grouper) scatterBytes(s *source, at *places) error {
	m := g.plan.memory
	for i, p := range at.of {
		b, row := g.overflow.last[p], at.row(i)
		for _, spans := range g.keys.spans {
			if err := b.append(m, spans[row]); err != nil {
				return err
			}
		}
		for _, a := range s.arguments {
			if g.plan.arguments[a].span >= 0 {
				if err := b.append(m, g.arguments[a].spans[row]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
