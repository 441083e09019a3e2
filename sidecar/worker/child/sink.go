package child

import (
	"context"
	"slices"
	"sync"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/worker/control"
)

// aheadBytes is how many bytes of batches may be requested ahead, so that
// filling one batch overlaps with the grant of the next.
const aheadBytes = 32 << 20

// sink is the joincore.Sink of one run. A granted batch is a credit; there is
// no other flow control. The sink requests one batch at first, and more ahead
// as it emits more. The daemon may refuse a batch: that fails the run only if
// somebody waits for it, and ends requests ahead.
//
// Devices whose values differ in size ask for batches of different shapes at the same
// time. Each gets batches of its own shape, because a row may fit no other one. Batches
// are requested ahead for the latest shape only, and only while no other shape is waited
// for: the daemon may have no further batch until those that are kept here come back.
type sink struct {
	columns int
	put     func(add func(*control.FromWorker))

	mu     sync.Mutex
	next   uint64            // number of the next batch
	asked  map[uint64]*shape // unanswered requests
	shapes []*shape          // the latest one, and those with waiters or requests
	latest *shape            // of which batches are kept
	ready  []*joincore.Batch // of the latest shape
	ahead  int
	most   int  // maximum of ahead
	scarce bool // a batch was refused: none is requested ahead any more
	err    error
}

// shape is how the heap of batches is divided.
type shape struct {
	heap    []float64 // mean bytes of a row, by column
	asked   int       // unanswered requests
	waiters []chan<- *joincore.Batch
}

// granted is the Handle of a batch: its number.
type granted uint64

func newSink(columns int, put func(func(*control.FromWorker))) *sink {
	return &sink{columns: columns, put: put, asked: map[uint64]*shape{}, most: 1}
}

func (s *sink) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return nil, s.err
	}
	of := s.use(heap)
	if n := len(s.ready); n > 0 {
		defer s.mu.Unlock()
		b := s.ready[n-1]
		s.ready = s.ready[:n-1]
		s.ask()
		return b, nil
	}
	answer := make(chan *joincore.Batch, 1)
	of.waiters = append(of.waiters, answer)
	s.ask()
	s.mu.Unlock()
	select {
	case b, ok := <-answer:
		if !ok {
			return nil, s.failure()
		}
		return b, nil
	case <-ctx.Done():
		s.giveUp(of, answer)
		return nil, context.Cause(ctx)
	}
}

func (s *sink) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// use returns the shape with the given heap, and makes it the latest one: batches that are
// kept of another one go back to the daemon. The caller holds s's lock.
func (s *sink) use(heap []float64) *shape {
	s.shapes = slices.DeleteFunc(s.shapes, func(o *shape) bool { return o != s.latest && o.asked == 0 && len(o.waiters) == 0 })
	i := slices.IndexFunc(s.shapes, func(o *shape) bool { return slices.Equal(o.heap, heap) })
	if i < 0 {
		i = len(s.shapes)
		s.shapes = append(s.shapes, &shape{heap: slices.Clone(heap)})
	}
	if of := s.shapes[i]; of != s.latest {
		for _, b := range s.ready {
			s.Discard(b)
		}
		s.ready, s.latest, s.ahead = nil, of, 0
	}
	return s.latest
}

// giveUp ends a wait. A batch that has arrived meanwhile goes to others.
func (s *sink) giveUp(of *shape, answer chan *joincore.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(of.waiters, (chan<- *joincore.Batch)(answer)); i >= 0 {
		of.waiters = slices.Delete(of.waiters, i, i+1)
		return
	}
	if b, ok := <-answer; ok {
		s.give(of, b)
	}
}

// others reports whether batches of a shape other than the latest are waited for. The
// caller holds s's lock.
func (s *sink) others() bool {
	return slices.ContainsFunc(s.shapes, func(o *shape) bool { return o != s.latest && len(o.waiters) > 0 })
}

// ask requests a batch for each waiter, and batches ahead. The caller holds s's
// lock.
func (s *sink) ask() {
	for _, of := range s.shapes {
		want := len(of.waiters)
		if of == s.latest && !s.others() && !s.scarce {
			want += s.ahead - len(s.ready)
		}
		for of.asked < want {
			s.next++
			s.asked[s.next] = of
			of.asked++
			message := &control.Want{Batch: s.next, HeapMean: of.heap}
			s.put(func(m *control.FromWorker) { m.Wanted = append(m.Wanted, message) })
		}
	}
}

// grant takes a batch that the daemon has granted. It reports whether the batch was
// requested and not answered yet.
func (s *sink) grant(number uint64, e *extent, segment joincore.Segment) (requested bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.asked[number]
	if of == nil {
		return false
	}
	delete(s.asked, number)
	of.asked--
	b := &joincore.Batch{Columns: segment.Columns, Rows: segment.Rows, Handle: granted(number)}
	s.most = max(1, aheadBytes/max(len(e.data), shm.ExtentMinSize))
	s.give(of, b)
	return true
}

// give passes a batch to who waits for its shape, or keeps it if it is of the latest and
// nothing else is waited for. The caller holds s's lock.
func (s *sink) give(of *shape, b *joincore.Batch) {
	switch {
	case len(of.waiters) > 0:
		of.waiters[0] <- b
		of.waiters = of.waiters[1:]
	case of == s.latest && !s.others():
		s.ready = append(s.ready, b)
	default:
		s.Discard(b)
	}
}

// refuse takes the daemon's refusal of a batch. It reports whether the batch was requested
// and not answered yet.
func (s *sink) refuse(number uint64) (requested bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.asked[number]
	if of == nil {
		return false
	}
	delete(s.asked, number)
	of.asked--
	s.scarce = true
	if of.asked < len(of.waiters) {
		s.failLocked(control.ErrRefused)
	}
	return true
}

// fail makes all current and later waits fail with err.
func (s *sink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLocked(err)
}

func (s *sink) failLocked(err error) {
	if s.err != nil {
		return
	}
	s.err = err
	for _, of := range s.shapes {
		for _, w := range of.waiters {
			close(w)
		}
		of.waiters = nil
	}
}

func (s *sink) Emit(_ context.Context, b *joincore.Batch, rows int, heap []int) error {
	m := &control.Emitted{Batch: uint64(b.Handle.(granted)), Rows: int64(rows), Heap: make([]int64, s.columns)}
	for i := range min(len(heap), s.columns) {
		m.Heap[i] = int64(heap[i])
	}
	s.put(func(f *control.FromWorker) { f.Emitted = append(f.Emitted, m) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead = min(2*s.ahead+1, s.most)
	return s.err
}

func (s *sink) Discard(b *joincore.Batch) {
	number := uint64(b.Handle.(granted))
	s.put(func(f *control.FromWorker) { f.Discarded = append(f.Discarded, number) })
}
