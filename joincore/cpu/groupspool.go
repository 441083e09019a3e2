//go:build amd64 || arm64

package cpu

// Rows whose groups a table does not take are partitioned by fanBits of their
// hash: as rows, in columns, with their keys and arguments. A partition of too
// many groups is partitioned again, by the next bits. Tables choose their
// entries by bits behind those; deepest leaves enough of them.
const (
	fanBits = 8
	fanOut  = 1 << fanBits
	deepest = 5
)

// spool holds the rows of each partition.
type spool struct {
	parts [fanOut][]*rowBlock
	order []uint32 // scratch: rows by partition
}

// rowBlock holds rows of a source.
type rowBlock struct {
	block
	source     int
	rows, size int
	heap       []byte // the bytes of keys and arguments, row by row
	used       int
}

// A partition's blocks begin small: there are many partitions.
const (
	firstBlockRows = 2 * rowUnit
	mostBlockRows  = 64 * rowUnit
)

// partition appends rows to their partitions; sel nil means all of the chunk.
func (g *grouper) partition(source int, sel []uint32) error {
	if g.spool == nil {
		g.spool = &spool{order: make([]uint32, g.plan.dev.chunk)}
		g.a.spooled.Store(true)
	}
	sp, hash, shift := g.spool, g.keys.hash, 64-fanBits
	skip := g.level * fanBits
	var ends [fanOut]uint32
	if sel == nil {
		for _, h := range hash {
			ends[h<<skip>>shift]++
		}
	} else {
		for _, i := range sel {
			ends[hash[i]<<skip>>shift]++
		}
	}
	at := uint32(0)
	for p := range ends {
		at, ends[p] = at+ends[p], at
	}
	order := sp.order[:at]
	if sel == nil {
		for i, h := range hash {
			end := &ends[h<<skip>>shift]
			order[*end] = uint32(i)
			*end++
		}
	} else {
		for _, i := range sel {
			end := &ends[hash[i]<<skip>>shift]
			order[*end] = i
			*end++
		}
	}
	from := uint32(0)
	for p, end := range ends {
		for run := order[from:end]; len(run) > 0; {
			b, err := g.openBlock(p, source)
			if err != nil {
				return err
			}
			n := min(len(run), b.size-b.rows)
			if err := g.write(b, run[:n]); err != nil {
				return err
			}
			run = run[n:]
		}
		from = end
	}
	return nil
}

// openBlock returns a block of a partition that has space.
func (g *grouper) openBlock(p, source int) (*rowBlock, error) {
	blocks := g.spool.parts[p]
	size := firstBlockRows
	if n := len(blocks); n > 0 {
		last := blocks[n-1]
		if last.source == source && last.rows < last.size {
			return last, nil
		}
		size = min(2*last.size, mostBlockRows)
	}
	memory, err := g.plan.memory.newBlock(g.plan.sources[source].rows, size)
	if err != nil {
		return nil, err
	}
	b := &rowBlock{block: memory, source: source, size: size}
	g.spool.parts[p] = append(blocks, b)
	return b, nil
}

// write appends rows of the chunk to a block.
func (g *grouper) write(b *rowBlock, run []uint32) error {
	p := g.plan
	s := &p.sources[b.source]
	at, end := b.rows, b.rows+len(run)
	c64, c32, c8 := b.c64, b.c32, b.c8
	for _, words := range g.keys.words {
		move64(c64[0][at:end], words, run)
		c64 = c64[1:]
	}
	if p.exact {
		if g.keys.tags == nil {
			clear(c32[0][at:end])
		} else {
			move32(c32[0][at:end], g.keys.tags, run)
		}
		c32 = c32[1:]
	}
	for _, spans := range g.keys.spans {
		lengthsOf(c32[0][at:end], spans, run)
		c32 = c32[1:]
	}
	if b.source == 0 {
		for _, ids := range g.keys.carry {
			move32(c32[0][at:end], ids, run)
			c32 = c32[1:]
		}
	}
	for i, a := range s.arguments {
		c, words := &g.arguments[a], p.arguments[a].wordsOf()
		switch {
		case p.arguments[a].span >= 0:
			lengthsOf(c32[0][at:end], c.spans, run)
			c32 = c32[1:]
		case words > 0:
			move64(c64[0][at:end], c.v, run)
			if words == 2 {
				c.writeHigh(c64[1][at:end], run)
			}
			c64 = c64[words:]
		}
		if c.skip == nil {
			clear(c8[i][at:end])
		} else {
			skip := c8[i][at:end]
			for j, row := range run {
				skip[j] = c.skip[row]
			}
		}
	}
	b.rows = end
	if p.spans+s.spans == 0 {
		return nil
	}
	return g.writeBytes(b, s, run)
}

// writeHigh writes the high words of rows.
func (c *argumentChunk) writeHigh(dst []uint64, run []uint32) {
	if c.high != nil {
		move64(dst, c.high, run)
		return
	}
	for i, row := range run {
		dst[i] = uint64(int64(c.v[row]) >> 63)
	}
}

func move64(dst, src []uint64, run []uint32) {
	dst = dst[:len(run)]
	for i, row := range run {
		dst[i] = src[row]
	}
}

func move32(dst, src []uint32, run []uint32) {
	dst = dst[:len(run)]
	for i, row := range run {
		dst[i] = src[row]
	}
}

func lengthsOf(dst []uint32, spans [][]byte, run []uint32) {
	for i, row := range run {
		dst[i] = uint32(len(spans[row]))
	}
}

// writeBytes appends the bytes of rows, one row after the other.
func (g *grouper) writeBytes(b *rowBlock, s *source, run []uint32) error {
	for _, row := range run {
		for _, spans := range g.keys.spans {
			if err := b.append(g.plan.memory, spans[row]); err != nil {
				return err
			}
		}
		for _, a := range s.arguments {
			if g.plan.arguments[a].span >= 0 {
				if err := b.append(g.plan.memory, g.arguments[a].spans[row]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *rowBlock) append(m *groupMemory, bytes []byte) error {
	if len(b.heap)-b.used < len(bytes) {
		heap, err := m.take(max(2*len(b.heap), 2*len(bytes), 16*b.size))
		if err != nil {
			return err
		}
		copy(heap, b.heap[:b.used])
		m.give(b.heap)
		b.heap = heap
	}
	b.used += copy(b.heap[b.used:], bytes)
	return nil
}

func (b *rowBlock) release(m *groupMemory) {
	b.block.release(m)
	m.give(b.heap)
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
		k.tags, c32 = c32[0][at:end], c32[1:]
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
		c.skip = c8[i][at:end]
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
