//go:build cuda

package cuda

import (
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/device"
)

// Share implements multi's sharer. Devices that cannot access each other's memory share
// nothing: a copy through the host takes longer than an upload.
func (p *Provider) Share(members []device.Provider, inputs []int) []any {
	out := make([]any, len(members))
	if !connected(members) {
		return out
	}
	s := &sharing{inputs: inputs, begun: newRendezvous(len(members) * len(inputs))}
	for i := range out {
		out[i] = s
	}
	return out
}

// connected reports whether members are providers that reach each other's memory.
func connected(members []device.Provider) bool {
	for _, m := range members {
		p, ok := m.(*Provider)
		if !ok {
			return false
		}
		for _, n := range members {
			if o, ok := n.(*Provider); !ok || o != p && !slices.Contains(p.peers, o.context.Info().Ordinal) {
				return false
			}
		}
	}
	return true
}

// Exceeds reports whether a join of two inputs is done out of core: an execution has at most
// three quarters of the budget, and a build side that is not divided at most three quarters
// of that (outofcore.splitBits).
func (p *Provider) Exceeds(build *joincore.Relation) bool {
	width := int64(0)
	for _, c := range build.Columns {
		if c.Kind == joincore.Fixed {
			width += int64(c.Width)
		}
	}
	most := p.budget / 16 * 9
	if p.outOfCore.SplitBytes > 0 {
		most = p.outOfCore.SplitBytes
	}
	return (width+outofcore.PartitionBytes)*build.Rows() > most
}

// SharedJoin returns what executions on the providers get as device.Options.Common to
// partition and join two inputs together. Each partitions some of the rows in host memory,
// from where every device reads them.
func (p *Provider) SharedJoin(members []device.Provider) []any {
	t := outofcore.NewSharedJoin(len(members), connected(members))
	out := make([]any, len(members))
	for i, m := range members {
		if _, ok := m.(*Provider); !ok {
			return nil
		}
		out[i] = t
	}
	return out
}
