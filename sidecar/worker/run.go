package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/worker/control"
)

// ErrLost reports that the child ended or was killed while it ran the job.
var ErrLost = errors.New("the worker process ended")

// errProtocol reports an invalid message from the child. The child is killed.
var errProtocol = errors.New("the worker violated the protocol")

// running is one job in a child.
type running struct {
	process *process
	job     *executor.Job
	stream  control.Worker_RunClient
	box     *control.Mailbox[control.ToWorker]
	ctx     context.Context // for granting batches
	cancel  context.CancelFunc
	grants  sync.WaitGroup

	mu      sync.Mutex
	asked   map[uint64]bool            // requested batches that were not granted yet
	batches map[uint64]*joincore.Batch // batches that the child may write
	booked  int64
	refused error // why the sink refused a batch, which the child may not need
	failed  error // error of the sink when it took a batch
}

// run executes a job in the child.
func (p *process) run(ctx context.Context, job *executor.Job, stats *joincore.Stats) error {
	start, err := encodeJob(job)
	if err != nil {
		return err
	}
	r := &running{process: p, job: job, asked: map[uint64]bool{}, batches: map[uint64]*joincore.Batch{}}
	r.ctx, r.cancel = context.WithCancel(ctx)
	defer r.cancel()
	// The stream must outlive ctx: closing it early would not tell us when the
	// child has stopped writing.
	streamCtx, hangUp := context.WithCancel(p.ctx)
	defer hangUp()
	if r.stream, err = p.worker.Run(streamCtx); err != nil {
		p.brokenOff(err) // the child knows nothing of the job, which need not wait for its exit
		return fmt.Errorf("%w: %w", ErrLost, p.exitReason())
	}
	r.box = control.NewMailbox(r.stream.Send)
	r.box.Put(func(m *control.ToWorker) { m.Start = start })
	stopped := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(stopped)
		r.cancelWith(ctx, finished)
	}()
	done, err := r.receive()
	close(finished)
	<-stopped
	if err != nil {
		if errors.Is(err, errProtocol) {
			p.kill(err)
		}
		if !p.exitsWithin(p.config.Timing.Reap) {
			r.retain()
		}
		err = fmt.Errorf("%w: %w", ErrLost, p.exitReason())
	}
	r.release()
	hangUp()
	_ = r.box.Flush() // fails if the child has ended or closed the stream
	return r.outcome(ctx, done, err, stats)
}

// encodeJob builds the start message of a job.
func encodeJob(job *executor.Job) (*control.Start, error) {
	start := &control.Start{Job: job.Text, Kept: job.Kept}
	for _, in := range job.Inputs {
		rows, err := control.EncodeRows(in, job.Memory.Place)
		if err != nil {
			return nil, err
		}
		start.Inputs = append(start.Inputs, rows)
	}
	return start, nil
}

// cancelWith sends a cancel request when ctx is done, and kills the child if it
// does not stop in time.
func (r *running) cancelWith(ctx context.Context, finished <-chan struct{}) {
	select {
	case <-finished:
		return
	case <-r.ctx.Done(): // by ctx, or because the sink has failed
	}
	r.box.Put(func(m *control.ToWorker) { m.Cancel = true })
	timeout := r.process.config.Timing.Cancel
	select {
	case <-finished:
	case <-time.After(timeout):
		r.process.kill(fmt.Errorf("a cancelled join did not stop within %v", timeout))
	}
}

// receive handles the child's messages until the run is done. It returns
// ErrLost if the child has ended and errProtocol if the child must be killed.
func (r *running) receive() (*control.Done, error) {
	for {
		m, err := r.stream.Recv()
		if err != nil {
			r.process.brokenOff(err)
			return nil, ErrLost
		}
		for _, w := range m.GetWanted() {
			if err := r.want(w); err != nil {
				return nil, err
			}
		}
		for _, e := range m.GetEmitted() {
			if err := r.emitted(e); err != nil {
				return nil, err
			}
		}
		for _, number := range m.GetDiscarded() {
			b, err := r.take(number)
			if err != nil {
				return nil, err
			}
			r.job.Sink.Discard(b)
		}
		if b := m.GetBook(); b != nil {
			r.book(b.GetBytes())
		}
		if d := m.GetDone(); d != nil {
			return d, nil
		}
	}
}

// retain keeps what a killed child that has not exited may still write: its
// batches' extents and the memory that is booked for it. A process can wait in a
// driver for as long as it likes, and no signal ends that. The extents and the
// memory are returned after the child's exit.
func (r *running) retain() {
	r.stopGrants()
	var extents []func()
	for _, b := range r.batches {
		if release := retainBatch(r.job.Memory, b); release != nil {
			extents = append(extents, release)
		}
	}
	p, memory, booked := r.process, r.job.Memory, r.booked
	r.booked = 0
	p.config.Log.Warn("a killed worker does not exit; the memory of its job is kept until it does",
		"provider", p.config.Name, "pid", p.cmd.Process.Pid, "extents", len(extents), "bytes", booked)
	go func() {
		<-p.exited
		for _, release := range extents {
			release()
		}
		memory.Unbook(booked)
	}()
}

// retainBatch retains the extent of a batch. It returns nil if the child cannot
// write to the batch, because it has no columns.
func retainBatch(memory executor.Memory, b *joincore.Batch) (release func()) {
	for i := range b.Columns {
		if release := memory.Retain(b.Columns[i].Values); release != nil {
			return release
		}
	}
	return nil
}

// stopGrants makes the sink's pending answers return, and waits for them.
func (r *running) stopGrants() {
	r.cancel()
	r.grants.Wait()
}

// release returns the batches and bookings of a child that no longer uses them.
func (r *running) release() {
	r.stopGrants()
	for _, b := range r.batches {
		r.job.Sink.Discard(b)
	}
	r.job.Memory.Unbook(r.booked)
}

// outcome returns the result of the job. An error of the sink or of the caller
// takes precedence over the child's error.
func (r *running) outcome(ctx context.Context, done *control.Done, err error, stats *joincore.Stats) error {
	if got, ok := done.Statistics(len(joincore.Joins(r.job.Plan.Root)), len(joincore.Aggregates(r.job.Plan.Root))); ok && stats != nil {
		*stats = got
		stats.Provider = r.process.config.Name
	}
	switch {
	case err == nil && done.GetFailure() == control.Failure_FAILURE_NONE && r.failed == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.failed != nil:
		return r.failed
	case err != nil:
		return err
	case done.GetFailure() == control.Failure_FAILURE_REFUSED && r.refused != nil:
		return r.refused
	}
	if done.GetFailure() == control.Failure_FAILURE_DEVICE {
		r.process.kill(done.Err())
	}
	return done.Err()
}

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
