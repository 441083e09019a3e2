package multi

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"gpujoin/joincore"
)

// collect executes the fragment and stores its rows in host memory. The columns at the
// positions in counts have 16 bytes for 8 bytes that are wanted.
func (f *fragment) collect(output columns, counts []int) (*table, error) {
	x := f.x
	plan, err := f.plan(output)
	if err != nil {
		return nil, err
	}
	collectors := make([]*collector, x.members())
	for m := range collectors {
		collectors[m] = &collector{mem: joincore.NewAccount("rows", x.mem), relation: &joincore.Relation{}}
		for _, c := range plan.Output {
			collectors[m].relation.Columns = append(collectors[m].relation.Columns, plan.Schema().Column(c))
		}
	}
	release := func() {
		for _, c := range collectors {
			c.mem.Close()
		}
	}
	if _, _, err := f.run(plan, func(m int) joincore.Sink { return collectors[m] }); err != nil {
		release()
		return nil, err
	}
	parts := make([]*joincore.Relation, x.members())
	for m, c := range collectors {
		parts[m] = c.relation
		for _, at := range counts {
			if err := narrow(parts[m], at); err != nil {
				release()
				return nil, err
			}
		}
	}
	return x.newTable(output, parts, release), nil
}

// narrow makes a column of 16 bytes one of 8.
func narrow(r *joincore.Relation, at int) error {
	r.Columns[at] = joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	for i := range r.Segments {
		v := r.Segments[i].Columns[at].Values
		for row := range r.Segments[i].Rows {
			low := binary.LittleEndian.Uint64(v[16*row:])
			if high := binary.LittleEndian.Uint64(v[16*row+8:]); int64(high) != int64(low)>>63 {
				return fmt.Errorf("a count of more than 64 bits: %w", joincore.ErrArithmetic)
			}
			binary.LittleEndian.PutUint64(v[8*row:], low)
		}
		r.Segments[i].Columns[at].Values = v[:8*r.Segments[i].Rows]
	}
	return nil
}

// collector is a sink that stores the rows of one member as a relation.
type collector struct {
	mem *joincore.Account // of the relation

	mu       sync.Mutex
	relation *joincore.Relation
}

// Sizes of batches: rows, and the bytes of variable length that a batch has for a
// column at least. Rows that have many get what they need.
const (
	collectRows = 1 << 12
	collectHeap = 1 << 10
)

func (c *collector) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	bytes := make([]int64, len(heap))
	for i, column := range c.relation.Columns {
		if column.Kind == joincore.Varlena {
			mean := max(heap[i], 0)
			if mean > math.MaxUint32-8 {
				return nil, fmt.Errorf("a value of %.0f bytes: %w", mean, joincore.ErrRowTooWide)
			}
			// A row that fits no other batch is announced with its size.
			bytes[i] = min(max(int64(mean*collectRows*1.1), int64(mean)+8, collectHeap), max(int64(mean)+8, mostHeap))
		}
	}
	l := newLayout(c.relation.Columns, collectRows, bytes)
	memory, err := c.mem.Alloc(l.bytes)
	if err != nil {
		return nil, err
	}
	s := l.segment(c.relation.Columns, memory)
	for i := range s.Columns {
		v := &s.Columns[i]
		for j := range v.Validity {
			v.Validity[j] = 0xff
		}
		if c.relation.Columns[i].Kind == joincore.Varlena {
			clear(v.Values[:4])
		}
	}
	return &joincore.Batch{Columns: s.Columns, Rows: s.Rows, Handle: memory}, nil
}

// mostHeap bounds the bytes of variable length of a batch, in a column.
const mostHeap = 1 << 20

func (c *collector) Emit(_ context.Context, b *joincore.Batch, rows int, heap []int) error {
	if rows <= 0 || rows > b.Rows {
		c.Discard(b)
		return fmt.Errorf("%d rows in a batch of %d: %w", rows, b.Rows, joincore.ErrInvalid)
	}
	s := joincore.Segment{Rows: rows, Columns: slices.Clone(b.Columns)}
	for i, column := range c.relation.Columns {
		v := &s.Columns[i]
		if column.Kind == joincore.Varlena {
			v.Values, v.Heap = v.Values[:4*(rows+1)], within(v.Heap, 0, heap[i])
		} else {
			v.Values = v.Values[:column.Width*rows]
		}
		v.Validity = v.Validity[:(rows+7)/8]
		if full(v.Validity, rows) {
			v.Validity = nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.relation.Segments = append(c.relation.Segments, s)
	return nil
}

// full reports whether the bits of all rows are set.
func full(validity []byte, rows int) bool {
	for i := range rows / 8 {
		if validity[i] != 0xff {
			return false
		}
	}
	rest := byte(1<<(rows%8) - 1)
	return rest == 0 || validity[rows/8]&rest == rest
}

func (c *collector) Discard(b *joincore.Batch) { c.mem.Free(b.Handle.([]byte)) }
