package run

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// patientSink gives a goroutine's turn up while it waits for a batch.
type patientSink struct {
	joincore.Sink
	turns device.Turns
}

// NewBatch implements joincore.Sink. Batches are asked for by goroutines that
// have a turn only.
func (s *patientSink) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	s.turns.Leave()
	defer s.turns.Enter(ctx)
	return s.Sink.NewBatch(ctx, heap)
}
