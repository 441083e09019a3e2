//go:build cuda

package mgj

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/exchange"
)

// Options are decisions taken from the join.
type Options struct {
	Strategy Strategy
	// Ranges of the probe side; 0: as many as suit the strategy.
	Ranges int
	// Blocks is how many blocks of a GPU send rows to others, each on a multiprocessor
	// of its own; 0: half of them.
	Blocks int
}

// Report has the costs of a join.
type Report struct {
	Strategy Strategy
	WallMS   float64 // on the host, from entry to return
	Members  []*columnar.Report
	Sent     [][]float64 // by member and flow: ms from the begin until it was sent
	Bytes    int64       // sent to other GPUs
}

// Join joins sides whose rows lie in the memory of the group's GPUs: parts are the GPUs'
// own rows, with columns of the same widths everywhere. The result's rows stay on the GPU
// that has joined them; parts[i].OutputRows are those that GPU i is expected to have, if
// rows stay where they are. Errors: joincore.ErrBudget if a GPU has too little memory,
// joincore.ErrUnsupported if these kernels do not do the join, and those of columnar.Func.
// When Join returns, no stream works for it any more.
func (g *Group) Join(ctx context.Context, parts []columnar.Join, o Options) ([]*columnar.Output, *Report, error) {
	start := time.Now()
	if len(parts) != len(g.members) {
		return nil, nil, fmt.Errorf("mgj: %d parts for %d GPUs", len(parts), len(g.members))
	}
	if err := alike(parts); err != nil {
		return nil, nil, err
	}
	j := &join{group: g, options: o, parts: parts, outputs: make([]*columnar.Output, len(parts)), report: &Report{Strategy: o.Strategy, Members: make([]*columnar.Report, len(parts))}}
	j.cut = phj.Cut{Devices: len(parts), Ranges: j.ranges()}
	for _, p := range parts {
		j.cut.Rows[0] += p.Build.Rows
		j.cut.Rows[1] += p.Probe.Rows
		j.cut.OutputRows += p.OutputRows
	}
	if err := j.open(ctx, 0); err != nil {
		return nil, nil, err
	}
	for _, x := range j.shares {
		sent, err := x.Sent()
		if err != nil {
			return nil, nil, err
		}
		j.report.Sent = append(j.report.Sent, sent)
	}
	j.report.WallMS = float64(time.Since(start)) / float64(time.Millisecond)
	return j.outputs, j.report, nil
}

// alike checks that the parts are those of one join.
func alike(parts []columnar.Join) error {
	first := &parts[0]
	for i := range parts {
		p := &parts[i]
		same := p.RowIDs == first.RowIDs && p.NoKey == first.NoKey && widthsEqual(&p.Build, &first.Build) && widthsEqual(&p.Probe, &first.Probe)
		if !same {
			return fmt.Errorf("mgj: the parts of GPU 0 and %d are not those of one join: %w", i, joincore.ErrUnsupported)
		}
	}
	return nil
}

func widthsEqual(a, b *columnar.Side) bool {
	if a.Key.Bytes != b.Key.Bytes || len(a.Payload) != len(b.Payload) {
		return false
	}
	for i := range a.Payload {
		if a.Payload[i].Bytes != b.Payload[i].Bytes {
			return false
		}
	}
	return true
}

// join is one join on its way.
type join struct {
	group   *Group
	options Options
	parts   []columnar.Join
	cut     phj.Cut
	shares  []*phj.Share
	outputs []*columnar.Output
	report  *Report

	to       [2][][]uint64 // the GPUs that get rows, by side, partition and GPU
	counts   [][][]int64   // rows by flow, GPU and partition
	crossing []int64       // rows by flow that leave their GPU
}

// ranges returns the ranges of the probe side: several where rows of a range are
// partitioned while the next one is sent.
func (j *join) ranges() int {
	switch {
	case j.options.Ranges > 0:
		return min(j.options.Ranges, phj.MaxRanges)
	case j.options.Strategy != Exchange:
		return 1
	}
	return defaultRanges
}

// open begins the share of each GPU inside of those before: so each of them ends, and
// gives back what it holds, after all work is done.
func (j *join) open(ctx context.Context, i int) error {
	g := j.group
	if i == len(g.members) {
		err := j.run(ctx)
		if err != nil {
			err = errors.Join(err, g.sync(ctx))
		}
		return err
	}
	m := g.members[i]
	out, report, err := phj.Together(ctx, m.Device, m.Stream, m.Arena, &j.parts[i], g.senders[i], j.cut, func(x *phj.Share) (*columnar.Output, error) {
		j.shares = append(j.shares, x)
		err := j.open(ctx, i+1)
		return j.outputs[i], err
	})
	j.outputs[i], j.report.Members[i] = out, report
	return err
}

// run executes the join on all shares.
func (j *join) run(ctx context.Context) error {
	for i, x := range j.shares {
		if x.Layout() != j.shares[0].Layout() {
			return fmt.Errorf("mgj: GPU %d lays rows out in another way than GPU 0: %w", i, joincore.ErrUnsupported)
		}
	}
	for _, x := range j.shares {
		x.Count()
	}
	if err := j.assign(ctx); err != nil {
		return err
	}
	if err := j.place(ctx); err != nil {
		return err
	}
	j.send()
	for i, x := range j.shares {
		out, err := x.Finish(ctx)
		if err != nil {
			return err
		}
		j.outputs[i] = out
	}
	return nil
}

// assign decides where rows go, by the build side and the first range of the probe side
// while further ranges are counted.
func (j *join) assign(ctx context.Context) error {
	var h exchange.Histograms
	for _, x := range j.shares {
		build, probe, err := x.FirstCounts(ctx)
		if err != nil {
			return err
		}
		h[exchange.Build] = append(h[exchange.Build], build)
		h[exchange.Probe] = append(h[exchange.Probe], estimated(probe, j.cut.Ranges))
	}
	x := j.shares[0]
	var err error
	j.to, err = j.options.Strategy.receivers(h, j.group.mesh, [2]int64{x.RowBytes(0), x.RowBytes(1)})
	return err
}

// place gives each GPU's rows places on those that receive them, and takes the memory for
// them before any is sent.
func (j *join) place(ctx context.Context) error {
	for i, x := range j.shares {
		counts, err := x.Counts(ctx)
		if err != nil {
			return err
		}
		if i == 0 {
			j.counts = make([][][]int64, len(counts))
		}
		for flow := range counts {
			j.counts[flow] = append(j.counts[flow], counts[flow])
		}
	}
	next := [2][]int64{make([]int64, len(j.shares)), make([]int64, len(j.shares))}
	rows := [2][]int64{make([]int64, len(j.shares)), make([]int64, len(j.shares))}
	sendings, arrivals := make([][]phj.Sending, len(j.counts)), make([][]phj.Arrival, len(j.counts))
	for flow, counts := range j.counts {
		side := min(flow, 1)
		sendings[flow], arrivals[flow] = phj.Place(counts, j.to[side], j.shares[0].Unit(flow), next[side])
		for i, n := range received(counts, j.to[side]) {
			rows[side][i] += n
		}
		j.crossing = append(j.crossing, crossing(counts, j.to[side]))
		j.report.Bytes += j.crossing[flow] * j.shares[0].RowBytes(side)
	}
	for i, x := range j.shares {
		output := outputRows(j.cut.OutputRows, i, rows[1])
		if err := x.Take([2]int64{rows[0][i], rows[1][i]}, [2]int64{next[0][i], next[1][i]}, output); err != nil {
			return fmt.Errorf("GPU %d: %w", i, err)
		}
	}
	for i, x := range j.shares {
		s, a := make([]phj.Sending, len(sendings)), make([]phj.Arrival, len(arrivals))
		for flow := range s {
			s[flow], a[flow] = sendings[flow][i], arrivals[flow][i]
		}
		x.Assign(j.shares, i, j.to, s, a)
	}
	return nil
}

// send queues both passes and the match. A GPU partitions what it has received of a flow
// while all send the next one, each kernel on multiprocessors of its own.
func (j *join) send() {
	blocks := make([]int, len(j.counts))
	for flow := range blocks {
		if j.crossing[flow] > 0 {
			blocks[flow] = j.blocks()
		}
		for _, x := range j.shares {
			x.Send(flow, blocks[flow])
		}
	}
	for _, x := range j.shares {
		x.Prepare()
	}
	for flow, counts := range j.counts {
		to := j.to[min(flow, 1)]
		rows := received(counts, to)
		sending := 0
		if flow+1 < len(blocks) {
			sending = blocks[flow+1]
		}
		for i, x := range j.shares {
			for from, other := range j.shares {
				if sends(counts[from], to, from, i) {
					x.Await(other, flow)
				}
			}
			x.Second(flow, rows[i], sending)
		}
	}
	for _, x := range j.shares {
		x.Match()
	}
}

// blocks returns how many blocks send to other GPUs.
func (j *join) blocks() int {
	if j.options.Blocks > 0 {
		return j.options.Blocks
	}
	return j.group.members[0].Device.Info().SMs / 2
}
