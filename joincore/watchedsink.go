package joincore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

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
