package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/executor/worker/wire"
)

// ErrLost: the child has ended, or had to be killed, while it ran the job.
var ErrLost = errors.New("the worker was lost")

// errProtocol: what the child says makes no sense. It is killed.
var errProtocol = errors.New("the worker broke the protocol")

// running is one job in a child.
type running struct {
	process *process
	job     *executor.Job
	stream  wire.Worker_RunClient
	box     *wire.Mailbox[wire.ToWorker]
	ctx     context.Context // of granting batches
	cancel  context.CancelFunc
	grants  sync.WaitGroup

	mu      sync.Mutex
	asked   map[uint64]bool            // batches that are waited for
	batches map[uint64]*joincore.Batch // that the child may write
	booked  int64
	failed  error // of the sink
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
	// The stream lives as long as the child: who just hung up would not know
	// when the child has stopped writing.
	streamCtx, hangUp := context.WithCancel(p.ctx)
	defer hangUp()
	if r.stream, err = p.worker.Run(streamCtx); err != nil {
		p.brokenOff(err)
		return fmt.Errorf("%w: %w", ErrLost, p.exitReason())
	}
	r.box = wire.NewMailbox(r.stream.Send)
	r.box.Put(func(m *wire.ToWorker) { m.Start = start })
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
		<-p.exited
		err = fmt.Errorf("%w: %w", ErrLost, p.exitReason())
	}
	r.release()
	hangUp()
	_ = r.box.Flush() // the child has left, or will not listen any more
	return r.outcome(ctx, done, err, stats)
}

// encodeJob says what the child has to do.
func encodeJob(job *executor.Job) (*wire.Start, error) {
	plan, err := wire.EncodePlan(job.Plan)
	if err != nil {
		return nil, err
	}
	start := &wire.Start{Plan: plan}
	for _, in := range job.Inputs {
		relation := &wire.Relation{}
		for i := range in.Segments {
			s, err := wire.EncodeSegment(&in.Segments[i], place(job))
			if err != nil {
				return nil, err
			}
			relation.Segments = append(relation.Segments, s)
		}
		start.Inputs = append(start.Inputs, relation)
	}
	return start, nil
}

func place(job *executor.Job) func([]byte) (wire.Place, bool) {
	return func(b []byte) (wire.Place, bool) {
		extent, offset, ok := job.Memory.Place(b)
		return wire.Place{Extent: extent, Offset: offset}, ok
	}
}

// cancelWith tells the child when ctx is done, and kills it if that does not
// help.
func (r *running) cancelWith(ctx context.Context, finished <-chan struct{}) {
	select {
	case <-finished:
		return
	case <-r.ctx.Done(): // by ctx, or because the sink has failed
	}
	r.box.Put(func(m *wire.ToWorker) { m.Cancel = true })
	patience := r.process.config.Timing.Cancel
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-finished:
	case <-timer.C:
		r.process.kill(fmt.Errorf("a cancelled join did not stop for %v", patience))
	}
}

// receive acts on what the child says until it is done. Errors: ErrLost where
// the child has ended, errProtocol where it has to.
func (r *running) receive() (*wire.Done, error) {
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

// release takes everything back from a child that does not use it any more.
func (r *running) release() {
	r.cancel()
	r.grants.Wait()
	for _, b := range r.batches {
		r.job.Sink.Discard(b)
	}
	r.job.Memory.Unbook(r.booked)
}

// outcome says how the job has ended: what the sink or the caller did counts
// before what the child made of it.
func (r *running) outcome(ctx context.Context, done *wire.Done, err error, stats *joincore.Stats) error {
	if stats != nil && done.GetStats() != nil {
		*stats = done.GetStats().Decode(joins(r.job.Plan.Root))
		stats.Provider = r.process.config.Name
	}
	switch {
	case err == nil && done.GetFailure() == wire.Failure_FAILURE_NONE && r.failed == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.failed != nil:
		return r.failed
	case err != nil:
		return err
	}
	if done.GetFailure() == wire.Failure_FAILURE_DEVICE {
		r.process.kill(done.Err())
	}
	return done.Err()
}

func joins(n joincore.Node) int {
	switch n := n.(type) {
	case *joincore.Filter:
		return joins(n.Child)
	case *joincore.Join:
		return 1 + joins(n.Left) + joins(n.Right)
	}
	return 0
}
