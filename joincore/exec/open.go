package exec

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
)

// openBatch is a batch of the sink that is not full yet.
type openBatch struct {
	busy  sync.Mutex      // held by the worker that fills it
	batch *joincore.Batch // nil: handed over
	rows  int
	heap  []int
}

// openBatches holds the partly filled batches of an output. A worker takes the one that
// it filled last, else an idle one, else a new one; if the sink has none, it waits for
// whichever comes first. It holds a batch only while it gathers a chunk, so there are as
// many batches as workers that gather at the same time.
type openBatches struct {
	mu      sync.Mutex
	list    []*openBatch // in the order in which they were opened
	waiting []*waiter    // for the sink

	waiters atomic.Int32 // of waiting, to see without mu that there are none
	wide    atomic.Int32 // workers that wait for a batch which they do not share
}

// waiter is a worker that waits for the sink. It is woken, once, if a batch becomes
// idle.
type waiter struct{ wake context.CancelFunc }

// idle returns a batch that no worker fills, locked for the caller, or nil. The
// caller holds s's lock.
func (s *openBatches) idle() *openBatch {
	for _, b := range s.list {
		if b.busy.TryLock() {
			return b
		}
	}
	return nil
}

// add adds a batch of the sink, locked for the caller.
func (s *openBatches) add(batch *joincore.Batch, columns int) *openBatch {
	b := &openBatch{batch: batch, heap: make([]int, columns)}
	b.busy.Lock()
	s.mu.Lock()
	s.list = append(s.list, b)
	s.mu.Unlock()
	return b
}

// remove takes a batch off, which is the caller's, and returns what the sink
// knows it by. Others may still look at b.
func (s *openBatches) remove(b *openBatch) *joincore.Batch {
	s.mu.Lock()
	s.list = slices.DeleteFunc(s.list, func(o *openBatch) bool { return o == b })
	s.mu.Unlock()
	batch := b.batch
	b.batch = nil
	b.busy.Unlock()
	return batch
}

// wait adds a worker that is going to wait, unless there is an idle batch by
// then.
func (s *openBatches) wait(w *waiter) *openBatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiters.Add(1) // before looking: who puts a batch back looks after that
	if b := s.idle(); b != nil {
		s.waiters.Add(-1)
		return b
	}
	s.waiting = append(s.waiting, w)
	return nil
}

// waited takes a worker off that has waited, and says whether it was woken.
func (s *openBatches) waited(w *waiter) (woken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting, w)
	if i < 0 {
		return true
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.waiters.Add(-1)
	return false
}

// wakeOne wakes the worker that has waited for longest, for an idle batch.
func (s *openBatches) wakeOne() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return
	}
	w := s.waiting[0]
	s.waiting = slices.Delete(s.waiting, 0, 1)
	s.waiters.Add(-1)
	w.wake()
}

// take returns a batch with space for a row, as the caller's; last is the one
// that it has filled last, or nil.
func (o *Output) take(ctx context.Context, last *openBatch) (*openBatch, error) {
	if last != nil && last.busy.TryLock() {
		if last.batch != nil {
			return last, nil
		}
		last.busy.Unlock()
	}
	o.open.mu.Lock()
	b := o.open.idle()
	o.open.mu.Unlock()
	var err error
	for b == nil && err == nil {
		b, err = o.await(ctx)
	}
	return b, err
}

// await waits for a new batch or an idle one. It may return neither.
func (o *Output) await(ctx context.Context) (*openBatch, error) {
	until, wake := context.WithCancel(ctx)
	defer wake()
	w := &waiter{wake}
	if b := o.open.wait(w); b != nil {
		return b, nil
	}
	batch, err := o.newBatch(ctx, until, o.Heap)
	woken := o.open.waited(w)
	switch {
	case err == nil:
		if woken { // for a batch that it does not need any more
			o.open.wakeOne()
		}
		return o.open.add(batch, len(o.Columns)), nil
	case woken && errors.Is(err, context.Canceled) && ctx.Err() == nil:
		o.open.mu.Lock()
		defer o.open.mu.Unlock()
		return o.open.idle(), nil
	}
	return nil, err
}

// takeWide returns a new batch that is divided for one wide row, as the
// caller's. It waits for the sink alone, so no other batch may stay idle
// meanwhile: the sink may have none until they come back.
func (o *Output) takeWide(ctx context.Context, heap []float64) (*openBatch, error) {
	o.open.wide.Add(1)
	defer o.open.wide.Add(-1)
	if err := o.flushIdle(ctx); err != nil {
		return nil, err
	}
	batch, err := o.newBatch(ctx, ctx, heap)
	if err != nil {
		return nil, err
	}
	return o.open.add(batch, len(o.Columns)), nil
}

// put leaves a batch to whoever needs one next.
func (o *Output) put(ctx context.Context, b *openBatch) error {
	b.busy.Unlock()
	if o.open.wide.Load() > 0 {
		return o.flushIdle(ctx)
	}
	if o.open.waiters.Load() > 0 {
		o.open.wakeOne()
	}
	return nil
}

// flush hands a batch with rows over, which is the caller's.
func (o *Output) flush(ctx context.Context, b *openBatch) error {
	rows, heap := b.rows, b.heap
	batch := o.open.remove(b)
	bytes := 0
	for i, w := range o.Widths {
		bytes += w*rows + heap[i]
	}
	o.Rows.Add(int64(rows))
	o.Bytes.Add(int64(bytes))
	start := time.Now()
	err := o.Sink.Emit(ctx, batch, rows, heap)
	o.Waits.Add(time.Since(start))
	return err
}

func (o *Output) flushIdle(ctx context.Context) error {
	for {
		o.open.mu.Lock()
		b := o.open.idle()
		o.open.mu.Unlock()
		if b == nil {
			return nil
		}
		if err := o.flush(ctx, b); err != nil {
			return err
		}
	}
}

// newBatch waits for a batch of the sink until the context until, which derives
// from the worker's context ctx, is done. The worker gives up its turn
// meanwhile. If only until is done the worker continues, so it waits for a turn
// again.
func (o *Output) newBatch(ctx, until context.Context, heap []float64) (*joincore.Batch, error) {
	start := time.Now()
	defer func() { o.Waits.Add(time.Since(start)) }()
	if o.Turns != nil {
		o.Turns.Leave()
		defer o.Turns.Enter(ctx)
	}
	return o.Sink.NewBatch(until, heap)
}

// Finish passes the remaining rows to the sink after all workers have stopped.
// If err is not nil it discards them. It returns err or the error of the sink.
func (o *Output) Finish(ctx context.Context, err error) error {
	for len(o.open.list) > 0 {
		b := o.open.list[0]
		b.busy.TryLock() // a worker that has failed has left it locked
		if err == nil && b.rows > 0 {
			err = o.flush(ctx, b)
		} else {
			o.Sink.Discard(o.open.remove(b))
		}
	}
	return err
}
