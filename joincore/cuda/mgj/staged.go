//go:build cuda

package mgj

import (
	"context"
	"fmt"

	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/exchange/live"
)

// copyCounts brings each GPU the histograms of all others.
func (j *join) copyCounts(ctx context.Context) error {
	var runs []live.Run
	for i, x := range j.shares {
		for g, other := range j.shares {
			if g != i {
				runs = j.group.runs(runs, i, g, x.Counts(i, other))
			}
		}
	}
	return j.copy(ctx, runs)
}

// copyFlow brings each GPU the rows of a flow that others have for it, when their first
// passes have ended. Those of the next flow run meanwhile.
func (j *join) copyFlow(ctx context.Context, flow int) error {
	var runs []live.Run
	for i, x := range j.shares {
		if err := x.WaitSent(ctx, flow); err != nil {
			return err
		}
		for g, b := range j.staged[flow][i] {
			runs = j.group.runs(runs, i, g, x.Blocks(flow, j.shares[g], b))
		}
	}
	return j.copy(ctx, runs)
}

// copy exchanges bytes and waits until all have arrived.
func (j *join) copy(ctx context.Context, runs []live.Run) error {
	c := exchange.Default()
	c.Packet = 0 // as large as suits the bytes
	stats, err := live.Exchange(ctx, j.group.through, c, runs)
	if err != nil {
		return fmt.Errorf("mgj: %w", err)
	}
	j.report.Copied.Add(stats)
	return nil
}

// runs appends pieces that one GPU sends to another.
func (g *Group) runs(list []live.Run, from, to int, pieces []phj.Piece) []live.Run {
	for _, p := range pieces {
		list = append(list, live.Run{
			From: from, To: to, Bytes: p.Bytes,
			Source: live.Place{Buffer: g.through.Own(from, p.From)}, Target: live.Place{Buffer: g.through.Own(to, p.To)},
		})
	}
	return list
}
