// Package multi is a provider that spreads plans over several devices. Each device is a
// member: a provider of its own, with which package exec executes fragments of the plan.
//
// By the strategy of a plan, members divide one input and read the others whole (Divide), partition both
// inputs of a join through the memory of the host, or divide both inputs and, when they meet at the join,
// exchange rows in their own memory or make one hash table in the memory of all of them, of which the
// rest is on the host.
//
// Members execute the whole plan, each on its own rows, up to the first aggregate above its joins. Several
// members group their own rows there, and the first one merges the groups and executes the rest. So a
// fragment ends at such an aggregate or with the plan, and only groups are stored in the memory of
// the host between fragments.
package multi

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// Provider executes plans on several members by a strategy.
type Provider struct {
	name    string
	members []device.Provider
	how     costmodel.Strategy // one of costmodel.Executed but Alone, or Auto
}

// Together returns a provider whose members execute plans by a strategy.
// With costmodel.Replicate they divide the rows of one input and read all others whole, as
// Divide says; with costmodel.Divide they partition both inputs of a join; with costmodel.Auto
// they do that if the build side exceeds one of them; with costmodel.Exchange, Spread and Hybrid
// they meet at the join that Meeting says, with Hybrid also one member. One member alone executes a plan that
// cannot be executed so, or that has failed on another member before a row was returned, unless
// a device is lost.
func Together(name string, members []device.Provider, how costmodel.Strategy) *Provider {
	return &Provider{name: name, members: members, how: how}
}

// Name returns the provider's name.
func (p *Provider) Name() string { return p.name }

// Check asks the first member: a fragment has no step that the plan lacks.
func (p *Provider) Check(plan *joincore.Checked) error { return device.Check(p.members[0], plan) }

// Open returns an error: plans are executed by Execute.
func (p *Provider) Open(joincore.Memory, device.Options) (device.Device, error) {
	return nil, fmt.Errorf("a group of devices as one device: %w", joincore.ErrUnsupported)
}

// Execute implements exec.Executor: it executes a plan by the provider's strategy, or on one member alone.
func (p *Provider) Execute(ctx context.Context, plan *joincore.Checked, inputs []*joincore.Relation, mem joincore.Memory,
	sink joincore.Sink, opt exec.Options, stats *joincore.Stats) error {
	if err := p.Check(plan); err != nil {
		return err
	}
	alone := p.members[0]
	x := newCoordinator(ctx, p, plan, inputs, mem, opt)
	reason := x.arrange()
	if reason == "" {
		watched := &joincore.WatchedSink{Sink: sink}
		err := x.execute(watched, stats)
		if err == nil || !p.again(ctx, watched, err) {
			return err
		}
		*stats = joincore.Stats{}
		reason, _, _ = strings.Cut(err.Error(), "\n")
		if x.failed.Load() == 0 && len(p.members) > 1 {
			alone = p.members[1]
		}
	}
	err := exec.Run(ctx, alone, plan, inputs, mem, sink, opt, stats)
	stats.Strategy, stats.Alone = costmodel.Alone.String(), reason
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

// execute executes the plan and reports on it.
func (x *coordinator) execute(sink joincore.Sink, stats *joincore.Stats) error {
	start := time.Now()
	defer x.close()
	waited, err := x.root(sink)
	*stats = x.stats
	stats.JoinTime = time.Since(start) - waited
	return err
}
