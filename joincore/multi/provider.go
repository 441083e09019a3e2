package multi

import (
	"context"
	"fmt"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/exec"
)

// Provider executes plans on all members of a group, or on members that exchange no rows.
type Provider struct {
	name    string
	members []device.Provider
	group   Group // nil: none
	opt     Options
}

// Options are for tests and benchmarks. Zero values let the provider choose.
type Options struct {
	// Exchange configures the exchanges; nil means exchange.Default with packets of a
	// size that suits the traffic.
	Exchange *exchange.Config
	// Partitions is the number of partitions of an exchange, a power of two.
	Partitions int
}

// New returns a provider of the given name. Member i works with the memory of the
// group's GPU i; members have different memory and all support the same plans.
func New(name string, members []device.Provider, g Group, opt Options) (*Provider, error) {
	if n := g.Mesh().GPUs(); n != len(members) || n > 64 {
		return nil, fmt.Errorf("%d members on a mesh of %d GPUs: %w", len(members), n, joincore.ErrUnsupported)
	}
	if opt.Exchange == nil {
		c := exchange.Default()
		c.Packet = 0
		opt.Exchange = &c
	}
	if p := opt.Partitions; p < 0 || p > mostPartitions || p&(p-1) != 0 {
		return nil, fmt.Errorf("%d partitions: %w", p, joincore.ErrUnsupported)
	}
	return &Provider{name: name, members: members, group: g, opt: opt}, nil
}

// Replicate returns a provider that exchanges no rows: the members divide the rows of one
// input and read all others whole, as Divide says. One member alone executes a plan that
// cannot be divided, or that has failed on another member before a row was returned, unless
// a device is lost.
func Replicate(name string, members []device.Provider) *Provider {
	return &Provider{name: name, members: members}
}

// Name returns the provider's name.
func (p *Provider) Name() string { return p.name }

// Check asks the first member: a fragment has no step that the plan lacks.
func (p *Provider) Check(plan *joincore.Checked) error { return device.Check(p.members[0], plan) }

// Open returns an error: plans are executed by Execute.
func (p *Provider) Open(joincore.Memory, device.Options) (device.Device, error) {
	return nil, fmt.Errorf("a group of devices as one device: %w", joincore.ErrUnsupported)
}

// Execute implements exec.Executor.
func (p *Provider) Execute(ctx context.Context, plan *joincore.Checked, inputs []*joincore.Relation, mem joincore.Memory,
	sink joincore.Sink, opt exec.Options, stats *joincore.Stats) error {
	if err := p.Check(plan); err != nil {
		return err
	}
	if p.group == nil {
		return p.replicate(ctx, plan, inputs, mem, sink, opt, stats)
	}
	return newCoordinator(ctx, p, plan, inputs, mem, opt).execute(sink, stats)
}

// execute executes the plan and reports on it.
func (x *coordinator) execute(sink joincore.Sink, stats *joincore.Stats) error {
	start := time.Now()
	defer x.close()
	err := x.root(sink)
	x.report(stats, time.Since(start))
	return err
}
