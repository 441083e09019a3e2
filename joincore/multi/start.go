package multi

import (
	"context"
	"slices"
	"sync"

	"gpujoin/joincore"
)

// start holds back the rows of members until each of them has some or has ended. A member
// that lacks memory fails before that, and then another one can execute the plan alone.
type start struct {
	mu      sync.Mutex
	missing int
	begun   chan struct{} // closed when none is missing
	heap    []float64     // that batches of all members are asked with; nil: none yet
}

func newStart(members int) *start { return &start{missing: members, begun: make(chan struct{})} }

// alike is by which factor members' mean sizes of values may differ for batches to be alike.
const alike = 2

// common returns the mean sizes of values that a batch is asked with. Members whose means
// differ little ask alike, because a sink may have batches ready for one shape only.
func (s *start) common(heap []float64) []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heap == nil {
		s.heap = slices.Clone(heap)
	}
	larger := slices.Clone(heap)
	for i, mean := range heap {
		if mean > alike*s.heap[i] || s.heap[i] > alike*mean {
			return heap
		}
		larger[i] = max(mean, s.heap[i])
	}
	s.heap = larger
	return larger
}

// sink returns where one member's rows go.
func (s *start) sink(to joincore.Sink) *startSink { return &startSink{Sink: to, start: s} }

type startSink struct {
	joincore.Sink
	start *start
	once  sync.Once
}

// arrive says that the member has rows or has ended. It may be called several times.
func (s *startSink) arrive() {
	s.once.Do(func() {
		s.start.mu.Lock()
		defer s.start.mu.Unlock()
		if s.start.missing--; s.start.missing == 0 {
			close(s.start.begun)
		}
	})
}

// NewBatch implements joincore.Sink.
func (s *startSink) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	s.arrive()
	select {
	case <-s.start.begun:
		return s.Sink.NewBatch(ctx, s.start.common(heap))
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
