package joincore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

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

// WatchedSink records whether rows have passed a sink and whether it has failed. The
// caller of an execution that fails uses it to decide whether another one may follow.
type WatchedSink struct {
	Sink
	returned atomic.Bool

	mu      sync.Mutex
	refused []error // of NewBatch; an execution may ask for more than it needs
	err     error   // of Emit
}

// Returned reports whether rows have been handed over.
func (w *WatchedSink) Returned() bool { return w.returned.Load() }

// Failed reports whether err, with which an execution has failed, is due to the sink.
func (w *WatchedSink) Failed(err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil || slices.ContainsFunc(w.refused, func(r error) bool { return errors.Is(err, r) })
}

// NewBatch implements Sink.
func (w *WatchedSink) NewBatch(ctx context.Context, heap []float64) (*Batch, error) {
	b, err := w.Sink.NewBatch(ctx, heap)
	if err != nil && ctx.Err() == nil { // a cancelled wait is not the sink's failure
		w.mu.Lock()
		defer w.mu.Unlock()
		w.refused = append(w.refused, err)
	}
	return b, err
}

// Emit implements Sink.
func (w *WatchedSink) Emit(ctx context.Context, b *Batch, rows int, heap []int) error {
	w.returned.Store(true)
	err := w.Sink.Emit(ctx, b, rows, heap)
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.err = err
	}
	return err
}

// Errors of an execution, wrapped with details.
var (
	// ErrBudget: the job needs more memory than it may use.
	ErrBudget = errors.New("memory budget exceeded")
	// ErrRowTooWide: one result row does not fit an empty batch.
	ErrRowTooWide = errors.New("a result row does not fit into a batch")
	// ErrUnsupported: the provider does not support a part of the plan.
	ErrUnsupported = errors.New("not supported")
	// ErrInvalid: the data contradicts its description.
	ErrInvalid = errors.New("invalid input data")
	// ErrArithmetic: SQL would perhaps report an error for a value. The result
	// of the plan is not usable.
	ErrArithmetic = errors.New("a value is out of range, not a number, or divided by zero")
	// ErrChanged is an ErrInvalid: two readings of an input differ.
	ErrChanged = fmt.Errorf("input changed while it was read: %w", ErrInvalid)
)

// Final reports whether the query or its data are the cause of an error: every provider
// would fail with it.
func Final(err error) bool {
	return errors.Is(err, ErrRowTooWide) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrArithmetic)
}
