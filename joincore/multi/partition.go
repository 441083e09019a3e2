package multi

import (
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// partitioner is a provider whose devices can join two inputs together that exceed the memory
// of each: they partition both by their keys, and each joins some of the partitions.
type partitioner interface {
	device.Provider
	// Exceeds reports whether the build side of a join is too large for one device, which
	// would partition both inputs by itself.
	Exceeds(build *joincore.Relation) bool
	// SharedJoin returns, for an execution on each of the providers, what it gets as
	// device.Options.Common to do so; nil: they cannot. The executions have the same inputs
	// and the same seed, and return different rows. The plan has one join, of two inputs.
	SharedJoin(members []device.Provider) []any
}

// Partitions reports whether members partition the inputs of a plan together: its rows are
// those of one join of two inputs, of which the build side exceeds a device.
func Partitions(p device.Provider, plan *joincore.Checked, inputs []*joincore.Relation) bool {
	s, ok := p.(partitioner)
	if !ok {
		return false
	}
	n, ok := joined(plan.Root)
	if !ok {
		return false
	}
	left, right := n.Left.(*joincore.Scan), n.Right.(*joincore.Scan)
	build := inputs[right.Input]
	if (costmodel.Join{LeftRows: inputs[left.Input].Rows(), RightRows: build.Rows()}).BuildLeft() {
		build = inputs[left.Input]
	}
	return s.Exceeds(build)
}

// joined returns the only join of a plan, of two different inputs, below filters and
// aggregates whose groups can be merged.
func joined(n joincore.Node) (*joincore.Join, bool) {
	switch n := n.(type) {
	case *joincore.Filter:
		return joined(n.Child)
	case *joincore.Aggregate:
		if mergeable(n) {
			return joined(n.Child)
		}
	case *joincore.Join:
		if slices.ContainsFunc(n.Keys, func(k joincore.KeyPair) bool { return k.Class == joincore.KeyVarlena }) {
			return nil, false // devices do not partition by texts
		}
		left, okLeft := n.Left.(*joincore.Scan)
		right, okRight := n.Right.(*joincore.Scan)
		return n, okLeft && okRight && left.Input != right.Input && len(n.Keys) > 0
	}
	return nil, false
}

// sharedJoin returns what the members get to join two inputs together, or nil if they do not:
// if each of them has memory for the build side.
func (p *Provider) sharedJoin(plan *joincore.Checked, inputs []*joincore.Relation) []any {
	if !slices.ContainsFunc(p.members, func(m device.Provider) bool { return Partitions(m, plan, inputs) }) {
		return nil
	}
	return p.members[0].(partitioner).SharedJoin(p.members)
}
