//go:build cuda

package mgj

import (
	"context"
	"fmt"

	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/exchange/live"
)

// queue queues the second passes that place has not queued, and the match. A GPU partitions
// what it has received of a flow while all send the next one, each kernel on
// multiprocessors of its own.
func (j *join) queue(ctx context.Context, from int) error {
	if j.cut.Way != phj.Stage {
		j.each(func(i int, x *phj.Share) {
			if j.options.NoOverlap {
				x.AwaitAll(j.shares)
			}
			for side := min(from, 1); side < 2; side++ {
				x.Prepare(side)
			}
			j.secondPasses(i, from, len(j.counts))
			x.Match()
		})
		return nil
	}
	if err := j.copyCounts(ctx); err != nil {
		return err
	}
	j.each(func(_ int, x *phj.Share) {
		x.Prepare(0)
		x.Prepare(1)
	})
	if j.packs {
		j.each(func(i int, _ *phj.Share) { j.pack(i, 0) })
	}
	for flow := range j.counts {
		if j.packs {
			j.each(func(i int, _ *phj.Share) { j.packNext(ctx, i, flow, len(j.counts)) })
		}
		if err := j.copyFlow(ctx, flow); err != nil {
			return err
		}
		if !j.options.NoOverlap {
			j.each(func(i int, _ *phj.Share) { j.secondPasses(i, flow, flow+1) })
		}
	}
	if j.options.NoOverlap {
		j.each(func(i int, _ *phj.Share) { j.secondPasses(i, 0, len(j.counts)) })
	}
	j.each(func(_ int, x *phj.Share) { x.Match() })
	return nil
}

// secondPasses queues GPU i's second passes over the flows from one on to the one before end.
//
// If rows are copied, rows that a GPU keeps are there before those of others: so it
// partitions its own rows of the next flow first.
func (j *join) secondPasses(i, from, end int) {
	gpus := len(j.shares)
	for flow := from; flow < end; flow++ {
		switch j.cut.Way {
		case phj.Store:
			j.secondPass(i, flow, 0, 0, gpus)
		case phj.Copy:
			j.secondPass(i, flow, i, i, 1)
			if flow > from {
				j.fromOthers(i, flow-1)
			}
		case phj.Stage:
			for g := range gpus {
				j.secondPass(i, flow, g, g, 1)
			}
		}
	}
	if j.cut.Way == phj.Copy {
		j.fromOthers(i, end-1)
	}
}

// fromOthers queues GPU i's second passes over a flow of all other GPUs, in the order in which
// these have copied it.
func (j *join) fromOthers(i, flow int) {
	for gpus, k := len(j.shares), 1; k < gpus; k++ {
		from := (i - k + gpus) % gpus
		j.secondPass(i, flow, from, from, 1)
	}
}

// secondPass queues GPU i's second pass with the given number over rows of a flow that the
// GPUs from one on send it, behind what sends them.
func (j *join) secondPass(i, flow, pass, from, senders int) {
	x, to, sending, rows := j.shares[i], j.to[0], 0, int64(0)
	if flow >= x.Builds() {
		to = j.to[1]
	}
	for g := from; g < from+senders; g++ {
		if n := receivedOf(j.counts[flow][g], to, g, i); n > 0 {
			rows += n
			x.Await(j.shares[g], flow)
			if j.wire(flow, g, i) > 0 {
				x.Expand(flow, g)
			}
		}
	}
	switch next := flow + 1; {
	case next < len(j.blocks):
		sending = j.blocks[next]
	case next < x.Flows() && j.options.Strategy == Exchange: // not counted yet
		sending = j.sending(next)
	}
	x.Second(flow, pass, rows, sending)
}

// copyCounts brings each GPU the histograms of all others.
func (j *join) copyCounts(ctx context.Context) error {
	return j.copy(ctx, func(*phj.Share) error { return nil }, func(from, to int) []phj.Piece {
		return j.shares[from].Counts(from, j.shares[to])
	})
}

// copyFlow brings each GPU the rows of a flow that others have for it, when their first
// passes have ended. Those of the next flow run meanwhile.
func (j *join) copyFlow(ctx context.Context, flow int) error {
	return j.copy(ctx, func(x *phj.Share) error { return x.WaitSent(ctx, flow) }, func(from, to int) []phj.Piece {
		return j.pieces(flow, from, to)
	})
}

// copy has the fabric copy pieces from each GPU to each other one, when written returns for
// those that have them, and waits until all have arrived.
func (j *join) copy(ctx context.Context, written func(*phj.Share) error, pieces func(from, to int) []phj.Piece) error {
	var runs []live.Run
	for from, x := range j.shares {
		if err := written(x); err != nil {
			return err
		}
		for to := range j.shares {
			if to == from {
				continue
			}
			for _, p := range pieces(from, to) {
				source, target := j.group.through.Own(from, p.From), j.group.through.Own(to, p.To)
				runs = append(runs, live.Run{From: from, To: to, Bytes: p.Bytes, Source: live.Place{Buffer: source}, Target: live.Place{Buffer: target}})
			}
		}
	}
	c := exchange.Default()
	c.Packet = 0 // as large as suits the bytes
	if j.options.Policy != nil {
		c.Policy = j.options.Policy
	}
	stats, err := live.Exchange(ctx, j.group.through, c, runs)
	if err != nil {
		return fmt.Errorf("mgj: %w", err)
	}
	j.report.Copied.Add(stats)
	return nil
}
