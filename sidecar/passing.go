package sidecar

import (
	"context"
	"fmt"
	"sync"

	"gpujoin/joincore"
	"gpujoin/sidecar/executor"
)

// passing returns a column of the rows of a kept input that pass its condition, as the only
// column of a relation in the job's memory until free is called. Without a condition it
// returns none.
func (j *job) passing(column joincore.ColumnRef, r *joincore.Relation) (keys *joincore.Relation, free func(), err error) {
	plan, err := j.decoded.Passing(column.Input, column.Column)
	if err != nil || plan == nil {
		return nil, func() {}, err
	}
	c := &collector{memory: j.account, column: r.Columns[column.Column]}
	keys = &joincore.Relation{Columns: []joincore.Column{c.column}}
	var stats joincore.Stats
	err = j.srv.executors.RunOnCores(j.ctx, &executor.Job{
		Plan: plan, Inputs: []*joincore.Relation{r}, Memory: j.account, Sink: c,
	}, &stats)
	if err != nil {
		c.free()
		return nil, nil, err
	}
	keys.Segments = c.segments
	return keys, c.free, nil
}

// collector is a sink that keeps the rows of one column in private memory.
type collector struct {
	memory joincore.Memory
	column joincore.Column

	mu       sync.Mutex
	segments []joincore.Segment
	blocks   [][]byte
}

var _ joincore.Sink = (*collector)(nil)

// collected is the number of rows of a batch.
const collected = 1 << 14

// leastHeap is the least heap of a batch, in bytes, of values of variable length.
const leastHeap = 1 << 20

func (c *collector) NewBatch(_ context.Context, heap []float64) (*joincore.Batch, error) {
	values, space := collected*c.column.StoredWidth(), 0
	if c.column.Kind == joincore.Varlena {
		values += c.column.StoredWidth()
		space = max(leastHeap, int(heap[0]*collected*5/4))
	}
	values = (values + 63) &^ 63
	block, err := c.memory.Alloc(int64(values + collected/8 + space))
	if err != nil {
		return nil, err
	}
	v := joincore.Vector{Values: block[:values], Validity: block[values:][:collected/8]}
	if c.column.Kind == joincore.Varlena {
		v.Heap = block[values+collected/8:]
		clear(v.Values[:4])
	}
	for i := range v.Validity {
		v.Validity[i] = 0xff
	}
	return &joincore.Batch{Columns: []joincore.Vector{v}, Rows: collected, Handle: block}, nil
}

func (c *collector) Emit(_ context.Context, b *joincore.Batch, rows int, heap []int) error {
	if rows <= 0 || rows > b.Rows {
		return fmt.Errorf("%d rows in a batch of %d: %w", rows, b.Rows, joincore.ErrInvalid)
	}
	v := b.Columns[0]
	if c.column.Kind == joincore.Varlena {
		v.Heap = v.Heap[:heap[0]]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks = append(c.blocks, b.Handle.([]byte))
	c.segments = append(c.segments, joincore.Segment{Rows: rows, Columns: []joincore.Vector{v}})
	return nil
}

func (c *collector) Discard(b *joincore.Batch) { c.memory.Free(b.Handle.([]byte)) }

// free gives the memory back.
func (c *collector) free() {
	for _, b := range c.blocks {
		c.memory.Free(b)
	}
	c.blocks, c.segments = nil, nil
}
