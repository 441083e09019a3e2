package run_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"gpujoin/joincore"
)

// arena is a Memory of huge pages that counts what is in use.
type arena struct {
	lock   sync.Mutex
	limit  int64 // 0: none
	inUse  int64
	blocks map[*byte]int
	allocs int
	failAt int // fail this Alloc and all that follow; 0: never
}

func (a *arena) Alloc(n int64) ([]byte, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.allocs++
	if a.failAt > 0 && a.allocs >= a.failAt || a.limit > 0 && a.inUse+n > a.limit {
		return nil, fmt.Errorf("%d bytes: %w", n, joincore.ErrBudget)
	}
	var b []byte
	if n >= 1<<20 {
		var err error
		if b, err = mapHuge(int(n)); err != nil {
			return nil, err
		}
	} else {
		b = make([]byte, n)
	}
	if a.blocks == nil {
		a.blocks = map[*byte]int{}
	}
	a.blocks[unsafe.SliceData(b)] = len(b)
	a.inUse += n
	return b, nil
}

func (a *arena) Free(b []byte) {
	a.lock.Lock()
	defer a.lock.Unlock()
	p := unsafe.SliceData(b)
	if a.blocks[p] != len(b) || len(b) == 0 {
		panic("Free of what Alloc has not returned")
	}
	delete(a.blocks, p)
	a.inUse -= int64(len(b))
	if len(b) >= 1<<20 {
		if err := syscall.Munmap(b); err != nil {
			panic(err)
		}
	}
}

// mapHuge maps memory for huge pages.
func mapHuge(n int) ([]byte, error) {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	if n >= 4<<20 {
		_ = syscall.Madvise(b, 14) // MADV_HUGEPAGE; slower without
	}
	return b, nil
}

// collect is a Sink that turns batches into a multiset of rows.
type collect struct {
	columns  []joincore.Column
	capacity int // rows a batch
	heap     int // heap bytes a batch, divided by the expected means

	lock sync.Mutex
	open int // batches
	rows joincore.ResultRows
	n    int
}

func (c *collect) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.lock.Lock()
	c.open++
	c.lock.Unlock()
	total := 0.0
	for i, h := range heap {
		if c.columns[i].Kind == joincore.Varlena {
			total += h + 1
		}
	}
	b := &joincore.Batch{Rows: c.capacity}
	for i, col := range c.columns {
		v := joincore.Vector{Validity: make([]byte, (c.capacity+7)/8)}
		for j := range v.Validity {
			v.Validity[j] = 0xff
		}
		if col.Kind == joincore.Fixed {
			v.Values = make([]byte, c.capacity*col.Width)
		} else {
			v.Values = make([]byte, 4*(c.capacity+1))
			v.Heap = make([]byte, int(float64(c.heap)*(heap[i]+1)/total))
		}
		b.Columns = append(b.Columns, v)
	}
	return b, nil
}

func (c *collect) Emit(ctx context.Context, b *joincore.Batch, rows int, heap []int) error {
	if rows <= 0 || rows > b.Rows {
		return fmt.Errorf("%d rows in a batch of %d", rows, b.Rows)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.open--
	c.n += rows
	if c.rows == nil {
		c.rows = joincore.ResultRows{}
	}
	for r := range rows {
		var row []byte
		for i, col := range c.columns {
			value, null := joincore.ValueAt(col, &b.Columns[i], r)
			row = joincore.AppendValue(row, value, null)
		}
		c.rows[string(row)]++
	}
	return nil
}

func (c *collect) Discard(*joincore.Batch) {
	c.lock.Lock()
	c.open--
	c.lock.Unlock()
}

// discard is a Sink that only counts, with a few batches that it reuses.
type discard struct {
	columns []joincore.Column
	free    chan *joincore.Batch
	lock    sync.Mutex
	n       int64
}

func newDiscard(columns []joincore.Column, batches, capacity int) *discard {
	d := &discard{columns: columns, free: make(chan *joincore.Batch, batches)}
	for range batches {
		b := &joincore.Batch{Rows: capacity}
		for _, c := range columns {
			values, err := mapHuge(max(capacity*c.Width, 4<<20))
			if err != nil {
				panic(err)
			}
			for i := 0; i < len(values); i += 4096 {
				values[i] = 0
			}
			b.Columns = append(b.Columns, joincore.Vector{Values: values, Validity: make([]byte, (capacity+7)/8)})
		}
		d.free <- b
	}
	return d
}

func (d *discard) NewBatch(ctx context.Context, _ []float64) (*joincore.Batch, error) {
	select {
	case b := <-d.free:
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (d *discard) Emit(_ context.Context, b *joincore.Batch, rows int, _ []int) error {
	d.lock.Lock()
	d.n += int64(rows)
	d.lock.Unlock()
	d.free <- b
	return nil
}

func (d *discard) Discard(b *joincore.Batch) { d.free <- b }
