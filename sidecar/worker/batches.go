package worker

import (
	"fmt"
	"math"

	"gpujoin/joincore"
	"gpujoin/sidecar/worker/control"
)

// maxAsked bounds how many batches a child may have requested at a time.
const maxAsked = 1 << 10

// want requests a batch from the sink in a goroutine of its own, since the
// request may have to wait until other batches are returned.
func (r *running) want(w *control.Want) error {
	number := w.GetBatch()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked[number] || r.batches[number] != nil || len(r.asked) >= maxAsked {
		return fmt.Errorf("%w: it requested batch %d twice, or too many batches", errProtocol, number)
	}
	if len(w.GetHeapMean()) != len(r.job.Plan.Output) {
		return fmt.Errorf("%w: a batch of %d columns", errProtocol, len(w.GetHeapMean()))
	}
	for _, mean := range w.GetHeapMean() {
		if !(mean >= 0) || math.IsInf(mean, 0) {
			return fmt.Errorf("%w: %v bytes per row", errProtocol, mean)
		}
	}
	r.asked[number] = true
	r.grants.Go(func() { r.grant(number, w.GetHeapMean()) })
	return nil
}

// grant obtains a batch and gives the child write access to it.
func (r *running) grant(number uint64, heap []float64) {
	b, err := r.job.Sink.NewBatch(r.ctx, heap)
	var segment *control.Segment
	if err == nil {
		segment, err = control.EncodeSegment(&joincore.Segment{Rows: b.Rows, Columns: b.Columns}, r.job.Memory.Place)
		if err != nil {
			r.job.Sink.Discard(b)
		}
	}
	r.mu.Lock()
	delete(r.asked, number)
	if err == nil {
		r.batches[number] = b
	} else if r.refused == nil && r.ctx.Err() == nil {
		r.refused = err
	}
	r.mu.Unlock()
	r.box.Put(func(m *control.ToWorker) {
		if err != nil {
			m.Refused = append(m.Refused, &control.Refusal{Batch: number})
			return
		}
		m.Granted = append(m.Granted, &control.Batch{Batch: number, Segment: segment})
	})
}

// take ends the child's use of a batch.
func (r *running) take(number uint64) (*joincore.Batch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.batches[number]
	if b == nil {
		return nil, fmt.Errorf("%w: batch %d was not granted to it", errProtocol, number)
	}
	delete(r.batches, number)
	return b, nil
}

// emitted passes a batch to the sink.
func (r *running) emitted(e *control.Emitted) error {
	b, err := r.take(e.GetBatch())
	if err != nil {
		return err
	}
	heap, err := checkEmitted(e, b)
	if err != nil {
		r.job.Sink.Discard(b)
		return err
	}
	r.mu.Lock()
	failed := r.failed != nil
	r.mu.Unlock()
	if failed || r.ctx.Err() != nil {
		r.job.Sink.Discard(b)
		return nil
	}
	if err := r.job.Sink.Emit(r.ctx, b, int(e.GetRows()), heap); err != nil {
		r.mu.Lock()
		if r.failed == nil {
			r.failed = err
		}
		r.mu.Unlock()
		r.cancel() // the child is told
	}
	return nil
}

// checkEmitted verifies that the batch can hold the rows and bytes that the
// child reports.
func checkEmitted(e *control.Emitted, b *joincore.Batch) ([]int, error) {
	if e.GetRows() < 1 || e.GetRows() > int64(b.Rows) || len(e.GetHeap()) != len(b.Columns) {
		return nil, fmt.Errorf("%w: %d rows with %d columns in a batch of %d with %d", errProtocol,
			e.GetRows(), len(e.GetHeap()), b.Rows, len(b.Columns))
	}
	heap := make([]int, len(b.Columns))
	for i, n := range e.GetHeap() {
		if n < 0 || n > int64(len(b.Columns[i].Heap)) {
			return nil, fmt.Errorf("%w: %d bytes in a heap of %d", errProtocol, n, len(b.Columns[i].Heap))
		}
		heap[i] = int(n)
	}
	return heap, nil
}

// book charges memory that the child is about to map.
func (r *running) book(n int64) {
	if n < 1 || r.job.Memory.Book(n) != nil {
		n = 0
	}
	r.booked += n
	r.box.Put(func(m *control.ToWorker) { m.Booked = append(m.Booked, &control.Booking{Bytes: n}) })
}
