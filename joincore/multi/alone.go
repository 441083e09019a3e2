package multi

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/exec"
)

// replicate executes a plan by replication, or on one member alone.
func (p *Provider) replicate(ctx context.Context, plan *joincore.Plan, inputs []*joincore.Relation, mem joincore.Memory,
	sink joincore.Sink, opt exec.Options, stats *joincore.Stats) error {
	alone, reason := p.members[0], "the plan cannot be divided among devices"
	input, ok := Divide(plan, inputs)
	together := p.together(plan, inputs)
	if (ok || together != nil) && len(p.members) > 1 {
		x, err := newExecution(ctx, p, plan, inputs, mem, opt)
		if err != nil {
			return err
		}
		x.divided, x.together = input, together
		if together != nil {
			x.divided = -1
		}
		watched := &watchedSink{Sink: sink}
		if err = x.execute(watched, stats); err == nil || !p.again(ctx, watched, err) {
			return err
		}
		*stats = joincore.Stats{}
		reason, _, _ = strings.Cut(err.Error(), "\n")
		if x.failed.Load() == 0 {
			alone = p.members[1]
		}
	}
	err := exec.Run(ctx, alone, plan, inputs, mem, sink, opt, stats)
	stats.Alone = reason
	return err
}

// losable is a member that can tell whether its device still works.
type losable interface {
	// Lost returns the error by which the device was lost, or nil.
	Lost() error
}

// sticky is an error after which a device no longer works.
type sticky interface {
	error
	Sticky() bool
}

// again reports whether one device may execute a plan on which several have failed: no row
// has been returned, and neither the caller nor the rows are the cause.
func (p *Provider) again(ctx context.Context, sink *watchedSink, err error) bool {
	var s sticky
	if errors.As(err, &s) && s.Sticky() {
		return false
	}
	for _, m := range p.members {
		if l, ok := m.(losable); ok && l.Lost() != nil {
			return false
		}
	}
	return ctx.Err() == nil && !sink.returned.Load() && !sink.failed.Load() &&
		!joincore.Final(err)
}

// watchedSink knows whether rows have been returned and whether the sink has failed.
type watchedSink struct {
	joincore.Sink
	returned, failed atomic.Bool
}

// NewBatch implements joincore.Sink.
func (w *watchedSink) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	b, err := w.Sink.NewBatch(ctx, heap)
	if err != nil && ctx.Err() == nil {
		w.failed.Store(true)
	}
	return b, err
}

// Emit implements joincore.Sink.
func (w *watchedSink) Emit(ctx context.Context, b *joincore.Batch, rows int, heap []int) error {
	w.returned.Store(true)
	err := w.Sink.Emit(ctx, b, rows, heap)
	if err != nil {
		w.failed.Store(true)
	}
	return err
}
