package joincore

import "context"

// Memory allocates column-sized memory outside the Go heap and accounts it to a job.
// Both methods are safe for concurrent use.
type Memory interface {
	// Alloc returns n bytes of unspecified content, 64-byte aligned, or ErrBudget.
	Alloc(n int64) ([]byte, error)
	// Free takes back a slice exactly as Alloc returned it.
	Free(b []byte)
}

// Batch is writable memory for result rows.
type Batch struct {
	// Columns has one vector per output column. Values has space for Rows rows
	// (Varlena: Rows+1 offsets, the first already 0), Validity is never nil and all
	// ones at the start, Heap is the column's part of the batch.
	Columns []Vector
	Rows    int // capacity, at least 1
	Handle  any // for the sink's own use
}

// Sink takes the result of a plan, batch by batch, in any order. Its methods
// are safe for concurrent use; each batch belongs to one goroutine.
type Sink interface {
	// NewBatch waits until there is memory for one more batch. heap[i] is the expected
	// mean heap bytes per row of output column i (0 for Fixed), by which the batch is
	// divided. If a row does not fit an empty batch, the caller returns ErrRowTooWide.
	// ctx may end although the plan continues: the caller has found space in another
	// batch, and may call again.
	NewBatch(ctx context.Context, heap []float64) (*Batch, error)
	// Emit hands over a batch with the given rows, 0 < rows <= b.Rows. heap[i] is the
	// number of heap bytes that output column i uses.
	Emit(ctx context.Context, b *Batch, rows int, heap []int) error
	// Discard returns an unused batch.
	Discard(b *Batch)
}
