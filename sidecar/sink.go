package sidecar

import (
	"context"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/memory"
)

// An execution is the joincore.Sink of its join. Each result batch is an extent.
// NewBatch waits while the window of batches is full.

var _ joincore.Sink = (*jobRun)(nil)

// sinkBatch is the Handle of a batch.
type sinkBatch struct {
	extent *memory.Extent
	layout *shm.BatchLayout
}

// errHeld reports that a held result does not fit into the window. Nothing was
// sent, so the backend runs the native plan.
var errHeld = fmt.Errorf("%w: the result is larger than the daemon can keep until all expressions are evaluated", joincore.ErrBudget)

func (e *jobRun) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	select {
	case e.slots <- struct{}{}:
	case <-e.full:
		return nil, errHeld
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-e.ctx.Done():
		return nil, e.ctx.Err()
	}
	extent, err := e.job.account.Extent(true)
	if err != nil {
		e.batchBack()
		return nil, err
	}
	layout, err := shm.PlanBatch(len(extent.Data), e.job.outputs, heap)
	if err != nil {
		e.dropExtent(extent)
		return nil, fmt.Errorf("%w: %w", joincore.ErrRowTooWide, err)
	}
	b := &joincore.Batch{Rows: e.portion(layout.Rows), Handle: &sinkBatch{extent, layout}}
	for _, c := range layout.Columns(extent.Data) {
		b.Columns = append(b.Columns, joincore.Vector{
			Values: c.Values[:c.Shape.Bytes(b.Rows)], Validity: c.Validity[:(b.Rows+7)/8], Heap: c.Heap,
		})
	}
	return b, nil
}

// portion returns the maximum number of rows of the next batch; full rows fit
// into it. Small batches must not fill the window of a held result.
func (e *jobRun) portion(full int) int {
	e.job.mu.Lock()
	defer e.job.mu.Unlock()
	if e.held && len(e.ready) >= e.room/2 {
		return full
	}
	return portion(full, e.job.open.Participants, e.job.expectedRows(), e.rowsOut)
}

func (e *jobRun) Emit(ctx context.Context, b *joincore.Batch, rows int, heap []int) error {
	h := b.Handle.(*sinkBatch)
	_, bytes, err := h.layout.Seal(h.extent.Data, rows, heap)
	if err != nil {
		e.Discard(b)
		return err
	}
	j := e.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil || j.exec != e {
		e.dropExtent(h.extent)
		return context.Canceled
	}
	e.ready = append(e.ready, resultBatch{h.extent, rows})
	e.rowsOut += int64(rows)
	e.bytesOut += bytes
	if !e.held {
		e.announce()
		j.schedule()
		e.kick()
	} else if len(e.ready) == e.room {
		close(e.full)
	}
	return nil
}

func (e *jobRun) Discard(b *joincore.Batch) {
	e.dropExtent(b.Handle.(*sinkBatch).extent)
}

// The nodes above the join may take much longer than the join itself, and a
// participant without a batch is idle. With several participants a batch
// therefore has at most 1/portionShare of a participant's part of the result. It
// has at least leastPortion rows, so that handing it over costs less than
// reading it.
const (
	portionShare = 8
	leastPortion = 2048
)

// portion returns the maximum number of rows of a result batch into which full
// rows fit. expected is the planner's estimate of the result, out the number of
// rows produced so far. If out exceeds the estimate, portions grow with it.
func portion(full int, participants uint32, expected float64, out int64) int {
	if participants <= 1 {
		return full
	}
	rows := max(expected, float64(out)) / float64(portionShare*participants)
	if rows >= float64(full) {
		return full
	}
	return min(full, max(int(rows), leastPortion))
}

// expectedRows returns the planner's estimate of the result.
func (j *job) expectedRows() float64 {
	root := j.plan.Root
	for f, ok := root.(*joincore.Filter); ok; f, ok = root.(*joincore.Filter) {
		root = f.Child // a bound: nothing is known of what it drops
	}
	switch n := root.(type) {
	case *joincore.Join:
		return n.Rows
	case *joincore.Aggregate:
		return n.Rows
	case *joincore.Scan:
		return j.plan.Inputs[n.Input].Rows
	}
	return 0
}
