package multi

import (
	"context"
	"strings"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// replicate executes a plan by replication, or on one member alone.
func (p *Provider) replicate(ctx context.Context, plan *joincore.Checked, inputs []*joincore.Relation, mem joincore.Memory,
	sink joincore.Sink, opt exec.Options, stats *joincore.Stats) error {
	alone, reason := p.members[0], "the plan cannot be divided among devices"
	input, ok := Divide(plan, inputs)
	shared := p.sharedJoin(plan, inputs)
	if (ok || shared != nil) && len(p.members) > 1 {
		x := newCoordinator(ctx, p, plan, inputs, mem, opt)
		x.divided, x.sharedJoin = input, shared
		if shared != nil {
			x.divided = -1
		}
		watched := &joincore.WatchedSink{Sink: sink}
		err := x.execute(watched, stats)
		if err == nil || !p.again(ctx, watched, err) {
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

// again reports whether one device may execute a plan on which several have failed: no row
// has been returned, and neither the caller nor the rows are the cause.
func (p *Provider) again(ctx context.Context, sink *joincore.WatchedSink, err error) bool {
	for _, m := range p.members {
		if device.Lost(m, err) != nil {
			return false
		}
	}
	return ctx.Err() == nil && !sink.Returned() && !sink.Failed(err) && !joincore.Final(err)
}
