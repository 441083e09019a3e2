package joincore

import "context"

// Memory hands out column-sized memory that is accounted to a job, never to
// the Go heap. Both methods are safe for concurrent use.
type Memory interface {
	// Alloc returns n bytes of unspecified content, aligned to 64, or ErrBudget.
	Alloc(n int64) ([]byte, error)
	// Free takes back exactly what Alloc returned.
	Free(b []byte)
}

// Batch is writable memory for result rows.
type Batch struct {
	// Columns has one vector an output column. Values holds room for Rows
	// rows (Varlena: Rows+1 offsets, the first already 0), Validity is never
	// nil and starts all ones, Heap has the column's share of the batch.
	Columns []Vector
	Rows    int // capacity, at least 1
	Handle  any // the sink's own
}

// Sink takes the result of a plan, batch by batch, in any order. Its methods
// are safe for concurrent use; each batch belongs to one goroutine.
type Sink interface {
	// NewBatch waits until there is memory for one more batch. heap[i] is the
	// expected mean of bytes a row of output column i (0 for Fixed); the batch
	// is split by it. A row that does not fit an empty batch is ErrRowTooWide,
	// returned by the caller of NewBatch.
	// ctx may end although the plan goes on: the caller has found space in
	// another batch, and may ask again.
	NewBatch(ctx context.Context, heap []float64) (*Batch, error)
	// Emit hands over a batch with rows rows, 0 < rows <= b.Rows. heap[i] is
	// the number of heap bytes used by output column i.
	Emit(ctx context.Context, b *Batch, rows int, heap []int) error
	// Discard gives back a batch that was not emitted.
	Discard(b *Batch)
}
