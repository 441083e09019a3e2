package child

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/planjson"
	"gpujoin/joincore/textcodes"
	"gpujoin/shm"
	"gpujoin/sidecar/worker/control"
)

// task is one run.
type task struct {
	srv    *server
	stream control.Worker_RunServer
	box    *control.Mailbox[control.FromWorker]
	ctx    context.Context
	cancel context.CancelCauseFunc
	booked chan bool // answers to bookings

	sink    *sink
	columns int            // of the output
	grants  sync.WaitGroup // batches whose extent has not arrived yet

	mu      sync.Mutex
	batches []*extent // of granted batches
}

func newTask(s *server, stream control.Worker_RunServer) *task {
	r := &task{srv: s, stream: stream, box: control.NewMailbox(stream.Send), booked: make(chan bool, 1)}
	r.ctx, r.cancel = context.WithCancelCause(stream.Context())
	return r
}

// run executes a plan. After it returns, no goroutine accesses the extents of
// the run.
func (r *task) run(start *control.Start) *control.Done {
	defer r.cancel(nil)
	job, err := planjson.Decode(start.GetJob())
	if err != nil {
		return control.EncodeDone(err, nil)
	}
	plan, err := job.PlanFor(start.GetKept())
	if err != nil {
		return control.EncodeDone(err, nil)
	}
	r.columns = len(plan.Output)
	r.sink = newSink(r.columns, r.box.Put)
	over := make(chan struct{})
	defer close(over)
	go func() { // runs until the stream ends
		r.cancel(r.receive())
		<-over
		r.grants.Wait()
		r.srv.pool.done(r.batches...)
	}()
	inputs, extents, err := r.inputs(plan, start.GetInputs())
	defer r.srv.pool.done(extents...)
	if err != nil {
		return control.EncodeDone(err, nil)
	}
	var stats joincore.Stats
	err = r.execute(plan, inputs, &stats)
	r.sink.fail(errOver)
	return control.EncodeDone(err, &stats)
}

var errOver = errors.New("the execution has ended")

// inputs locates the rows of a plan. It returns the extents in use also with an
// error.
func (r *task) inputs(plan *joincore.Checked, list [][]byte) (out []*joincore.Relation, used []*extent, err error) {
	if len(list) != len(plan.Inputs) {
		return nil, nil, fmt.Errorf("%w: %d relations for %d inputs", control.ErrMalformed, len(list), len(plan.Inputs))
	}
	use := func(id uint64) ([]byte, error) {
		e, err := r.srv.pool.use(r.ctx, id)
		if err != nil {
			return nil, err
		}
		used = append(used, e)
		return e.data, nil
	}
	for i, in := range list {
		relation, err := control.DecodeRows(in, plan.Inputs[i].Columns, use)
		if err != nil {
			return nil, used, err
		}
		out = append(out, relation)
	}
	return out, used, nil
}

// execute waits for a device and runs the plan on it, and on others if that pays.
func (r *task) execute(plan *joincore.Checked, inputs []*joincore.Relation, stats *joincore.Stats) (err error) {
	defer device.Recover(&err)
	device.PanicOnFault()
	q := r.srv.leastLoaded(inputs)
	if err := q.enter(r.ctx); err != nil {
		return err
	}
	defer q.leave()
	team := r.srv.team(q, plan, inputs)
	defer team.leave()
	mem := newMemory(r.book)
	defer func() {
		if n := mem.Close(); n > 0 {
			r.srv.log.Error("a join leaked memory", "blocks", n)
		}
	}()
	err = exec.Run(r.ctx, textcodes.New(team.provider()).With(r.srv.memo), plan, inputs, mem, r.sink, q.Options, stats)
	for _, p := range team.members {
		err = deviceLost(p, err)
	}
	team.note(stats)
	return err
}

// book requests memory from the daemon, one request at a time.
func (r *task) book(n int64) error {
	r.box.Put(func(m *control.FromWorker) { m.Book = &control.Booking{Bytes: n} })
	select {
	case ok := <-r.booked:
		if !ok {
			return fmt.Errorf("%w: %d bytes for the worker", joincore.ErrBudget, n)
		}
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// receive handles the daemon's messages until it closes the stream or cancels.
// The returned error is the reason for ending the run.
func (r *task) receive() error {
	for {
		m, err := r.stream.Recv()
		if err != nil {
			return fmt.Errorf("%w: the daemon closed the stream: %w", context.Canceled, err)
		}
		if m.GetCancel() {
			return context.Canceled
		}
		for _, b := range m.GetGranted() {
			r.grants.Go(func() { // its extent may not have arrived; a cancel must be read meanwhile
				if err := r.grant(b); err != nil {
					r.cancel(err)
				}
			})
		}
		for _, b := range m.GetRefused() {
			if !r.sink.refuse(b.GetBatch()) {
				return fmt.Errorf("%w: batch %d was refused and not requested", control.ErrMalformed, b.GetBatch())
			}
		}
		for _, b := range m.GetBooked() {
			select {
			case r.booked <- b.GetBytes() > 0:
			default:
				return fmt.Errorf("%w: an answer without a request for memory", control.ErrMalformed)
			}
		}
	}
}

// grant passes a granted batch to the sink.
func (r *task) grant(b *control.Batch) error {
	e, err := r.srv.pool.use(r.ctx, b.GetSegment().GetExtent())
	if err != nil {
		return err
	}
	segment, err := b.GetSegment().Decode(e.data, r.columns)
	if err != nil {
		r.srv.pool.done(e)
		return err
	}
	r.mu.Lock()
	r.batches = append(r.batches, e)
	r.mu.Unlock()
	if !r.sink.grant(b.GetBatch(), e, segment) {
		return fmt.Errorf("%w: batch %d was not requested", control.ErrMalformed, b.GetBatch())
	}
	return nil
}

// bookingStep is the minimum number of bytes per booking, so that not every
// allocation waits for the daemon.
const bookingStep = 16 << 20

// mappings are the memory of one run: private mappings that are booked with the
// daemon first, so that one budget covers both processes. Pages are allocated on first
// touch, since a provider may allocate only to reserve budget for memory that it gets
// elsewhere.
type mappings struct {
	book    func(n int64) error // asks the daemon
	mu      sync.Mutex
	account *joincore.Account // its limit is what was booked
}

// limited returns what books a number of bytes in all.
func limited(bytes int64) func(n int64) error {
	var mu sync.Mutex
	return func(n int64) error {
		mu.Lock()
		defer mu.Unlock()
		if n > bytes {
			return joincore.ErrBudget
		}
		bytes -= n
		return nil
	}
}

func newMemory(book func(int64) error) *joincore.Account {
	m := &mappings{book: book}
	m.account = joincore.NewRoot(m)
	return m.account
}

// Alloc implements joincore.Memory. It books what n more bytes need: a full step
// or, if the budget refuses that, just the missing bytes.
func (m *mappings) Alloc(n int64) ([]byte, error) {
	if n > math.MaxInt64/2 {
		return nil, fmt.Errorf("%w: %d bytes", joincore.ErrInvalid, n)
	}
	size := (n + pageSize - 1) / pageSize * pageSize
	m.mu.Lock()
	defer m.mu.Unlock()
	if missing := m.account.Used() + size - m.account.Limit(); missing > 0 {
		booked := max(missing, bookingStep)
		if m.book(booked) != nil {
			booked = missing
			if err := m.book(booked); err != nil {
				return nil, err
			}
		}
		m.account.AddLimit(booked)
	}
	b, err := shm.MapPrivate(int(size))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", joincore.ErrBudget, err)
	}
	m.account.Take(size)
	return b[:n:size], nil
}

func (m *mappings) Free(b []byte) {
	_ = shm.Unmap(b[:cap(b)]) // fails only for a mapping that is not ours
	m.account.Give(int64(cap(b)))
}
