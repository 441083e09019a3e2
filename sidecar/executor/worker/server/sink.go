package server

import (
	"context"
	"slices"
	"sync"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/executor/worker/wire"
)

// aheadBytes is how many bytes of batches may be requested ahead, so that
// filling one batch overlaps with the grant of the next.
const aheadBytes = 32 << 20

// sink is the joincore.Sink of one run. A granted batch is a credit; there is
// no other flow control. The sink requests one batch at first, and more ahead
// as it emits more.
type sink struct {
	columns int
	put     func(add func(*wire.FromWorker))

	mu      sync.Mutex
	next    uint64    // number of the next batch
	heap    []float64 // heap sizes of requested batches
	ready   []*joincore.Batch
	waiters []chan<- *joincore.Batch
	asked   map[uint64]bool // unanswered requests; false: no longer wanted
	ahead   int
	most    int // maximum of ahead
	err     error
}

// granted is the Handle of a batch.
type granted struct {
	number uint64
}

func newSink(columns int, put func(func(*wire.FromWorker))) *sink {
	return &sink{columns: columns, put: put, asked: map[uint64]bool{}, most: 1}
}

// NewBatch implements joincore.Sink.
func (s *sink) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return nil, s.err
	}
	if !slices.Equal(heap, s.heap) {
		s.forget()
		s.heap = slices.Clone(heap)
	}
	if n := len(s.ready); n > 0 {
		defer s.mu.Unlock()
		b := s.ready[n-1]
		s.ready = s.ready[:n-1]
		s.ask()
		return b, nil
	}
	answer := make(chan *joincore.Batch, 1)
	s.waiters = append(s.waiters, answer)
	s.ask()
	s.mu.Unlock()
	select {
	case b, ok := <-answer:
		if !ok {
			return nil, s.failure()
		}
		return b, nil
	case <-ctx.Done():
		s.giveUp(answer)
		return nil, context.Cause(ctx)
	}
}

func (s *sink) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// giveUp ends a wait. A batch that has arrived meanwhile goes to other waiters.
func (s *sink) giveUp(answer chan *joincore.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiters, (chan<- *joincore.Batch)(answer)); i >= 0 {
		s.waiters = slices.Delete(s.waiters, i, i+1)
		return
	}
	if b, ok := <-answer; ok {
		s.ready = append(s.ready, b)
	}
}

// forget returns batches that were granted for rows of another shape. The
// caller holds s's lock.
func (s *sink) forget() {
	for _, b := range s.ready {
		s.discard(b)
	}
	s.ready = nil
	for number := range s.asked {
		s.asked[number] = false
	}
}

// ask requests a batch for each waiter, and batches ahead. The caller holds s's
// lock.
func (s *sink) ask() {
	under := len(s.ready)
	for _, wanted := range s.asked {
		if wanted {
			under++
		}
	}
	for ; under < len(s.waiters)+s.ahead; under++ {
		s.next++
		s.asked[s.next] = true
		want := &wire.Want{Batch: s.next, HeapMean: s.heap}
		s.put(func(m *wire.FromWorker) { m.Wanted = append(m.Wanted, want) })
	}
}

// grant takes a batch that the daemon has granted.
func (s *sink) grant(number uint64, e *extent, segment joincore.Segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &joincore.Batch{Columns: segment.Columns, Rows: segment.Rows, Handle: &granted{number}}
	s.most = max(1, aheadBytes/max(len(e.data), shm.ExtentMinSize))
	wanted := s.asked[number]
	delete(s.asked, number)
	switch {
	case !wanted:
		s.discard(b)
	case len(s.waiters) > 0:
		s.waiters[0] <- b
		s.waiters = s.waiters[1:]
	default:
		s.ready = append(s.ready, b)
	}
}

// wants reports whether the batch was requested and not answered yet.
func (s *sink) wants(number uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.asked[number]
	return ok
}

// fail makes all current and later waits fail with err.
func (s *sink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = err
	for _, w := range s.waiters {
		close(w)
	}
	s.waiters = nil
}

// Emit implements joincore.Sink.
func (s *sink) Emit(_ context.Context, b *joincore.Batch, rows int, heap []int) error {
	m := &wire.Emitted{Batch: b.Handle.(*granted).number, Rows: int64(rows), Heap: make([]int64, s.columns)}
	for i := range min(len(heap), s.columns) {
		m.Heap[i] = int64(heap[i])
	}
	s.put(func(f *wire.FromWorker) { f.Emitted = append(f.Emitted, m) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead = min(2*s.ahead+1, s.most)
	return s.err
}

// Discard implements joincore.Sink.
func (s *sink) Discard(b *joincore.Batch) { s.discard(b) }

func (s *sink) discard(b *joincore.Batch) {
	number := b.Handle.(*granted).number
	s.put(func(f *wire.FromWorker) { f.Discarded = append(f.Discarded, number) })
}
