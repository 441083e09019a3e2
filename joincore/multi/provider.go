// Package multi is a provider that spreads plans over several devices. Each device is a
// member: a provider of its own, with which package exec executes fragments of the plan.
//
// A provider from Together has each member execute the whole plan: members divide one input and
// read the others whole (Divide), partition both inputs of a join through the memory of the
// host, or divide both inputs and, when they meet at the join, exchange rows in their own memory
// or make one hash table in the memory of all of them, of which the rest is on the host.
// The rest is about a provider from New, which exchanges rows between joins.
//
// A fragment is as much of a plan as members can execute each on its own rows: filters,
// one join, aggregates. Between fragments, rows are exchanged so that those that belong
// together meet on one member. The steps of an exchange:
//
//  1. Hash: each member computes the partition of each of its rows from the key, and
//     counts rows by partition.
//  2. Assign: exchange.Assign decides from all counts which members get which
//     partitions, and of which side.
//  3. Scatter: each member writes its rows in column layout into blocks, one for each
//     set of members that get the same rows.
//  4. Exchange: package exchange/live sends the blocks over the links of the mesh.
//
// The rows of an input are divided evenly at first. Rows that find no partner and are
// not returned stay where they are and are dropped. Rows with a NULL in the key of a join
// never leave their member. An aggregate is computed after an exchange by its keys; if
// its functions allow it, and it promises fewer rows, each member first groups its own
// rows, and partial groups are exchanged and merged.
//
// The host does the first three steps, so that rows pass through its memory between fragments.
package multi

import (
	"context"
	"fmt"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/exec"
)

// Provider executes plans on all members of a group, or by a strategy without one.
type Provider struct {
	name    string
	members []device.Provider
	group   Group // nil: none
	opt     Options
	how     costmodel.Strategy // without a group: one of costmodel.Executed but Alone, or Auto
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

func (p *Provider) Execute(ctx context.Context, plan *joincore.Checked, inputs []*joincore.Relation, mem joincore.Memory,
	sink joincore.Sink, opt exec.Options, stats *joincore.Stats) error {
	if err := p.Check(plan); err != nil {
		return err
	}
	if p.group == nil {
		return p.together(ctx, plan, inputs, mem, sink, opt, stats)
	}
	return newCoordinator(ctx, p, plan, inputs, mem, opt).execute(sink, stats)
}

// execute executes the plan and reports on it.
func (x *coordinator) execute(sink joincore.Sink, stats *joincore.Stats) error {
	start := time.Now()
	defer x.close()
	waited, err := x.root(sink)
	*stats = x.stats
	stats.JoinTime = time.Since(start) - waited
	if e := x.exchanged; e.Batches > 0 {
		stats.Sent += e.Bytes
		stats.Hops = max(stats.Hops, int(e.Hops/e.Batches))
	}
	return err
}

// Group is the memory of the members, as many as the mesh has GPUs, and the links
// between them. Its methods are safe for concurrent use.
type Group interface {
	live.Fabric
	// Rows returns memory of a member for rows, at least 1 byte, of unspecified
	// content. Its host memory comes from mem.
	Rows(mem joincore.Memory, member int, bytes int64) (Rows, error)
}

// Rows is memory of a member that the host writes before an exchange and reads after
// it. One goroutine uses it at a time.
type Rows interface {
	// Buffer returns the memory that copies read and write.
	Buffer() live.Buffer
	// Bytes returns what the host reads and writes. It is 64-byte aligned.
	Bytes() []byte
	// Upload makes bytes that the host has written visible to copies.
	Upload(ctx context.Context, offset, bytes int64) error
	// Download makes bytes that copies have written visible to the host.
	Download(ctx context.Context, offset, bytes int64) error
	// Free releases the memory. No copy uses it any more.
	Free()
}
