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
