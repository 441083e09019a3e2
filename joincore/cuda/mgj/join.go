//go:build cuda

package mgj

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/exchange/live"
)

// Options are decisions taken from the join.
type Options struct {
	Strategy Strategy
	// Bloom: a Bloom filter of the build keys of all GPUs drops probe rows before any is sent,
	// if memory suffices and the result has columns.
	Bloom bool
	// Bypass says whether the probe side is sampled for hot keys, whose rows are joined where
	// they are.
	Bypass Bypass
	// Ranges in which the build and the probe side are sent; 0: as many as suit the
	// strategy. At most phj.MaxFlows together.
	Ranges [2]int
	// Blocks is how many blocks of a GPU send rows to others, each on a multiprocessor
	// of its own; 0: about three of five.
	Blocks int
}

// Report has the costs of a join.
type Report struct {
	Strategy Strategy
	WallMS   float64 // on the host, from entry to return
	Members  []*columnar.Report
	Sent     [][]float64 // by member and flow: ms from the begin until it was sent; nil unless phases were asked for
	Bytes    int64       // sent to other GPUs
	Copied   live.Stats  // if rows are staged
	// Host has the steps of the host, with the ms from entry to the end of each.
	Host []columnar.Phase
	// HotKeys is the number of keys whose probe rows were joined where they are, without
	// being partitioned or sent.
	HotKeys int
}

// Join joins sides whose rows lie in the memory of the group's GPUs: parts are the GPUs'
// own rows, with columns of the same widths everywhere. Row ids in a result number the rows
// of all parts, in their order. The result's rows stay on the GPU
// that has joined them; parts[i].OutputRows are those that GPU i is expected to have, if
// rows stay where they are. Errors: joincore.ErrBudget if a GPU has too little memory,
// joincore.ErrUnsupported if these kernels do not do the join, and those of columnar.Func.
// When Join returns, no stream works for it any more.
func (g *Group) Join(ctx context.Context, parts []columnar.Join, o Options) ([]*columnar.Output, *Report, error) {
	marks := make([]driver.Mark, len(g.members))
	for i, m := range g.members {
		marks[i] = m.Arena.Mark()
	}
	start := time.Now()
	j, err := g.join(ctx, start, parts, o)
	if j != nil && j.report.HotKeys > 0 && (errors.Is(err, phj.ErrBypass) || errors.Is(err, joincore.ErrBudget)) {
		for i, m := range g.members {
			m.Arena.Rewind(marks[i])
		}
		o.Bypass = BypassNever
		j, err = g.join(ctx, start, parts, o)
	}
	if err != nil {
		return nil, nil, err
	}
	return j.outputs, j.report, nil
}

// join is Join, without a second attempt. The join that it returns may have failed.
func (g *Group) join(ctx context.Context, start time.Time, parts []columnar.Join, o Options) (*join, error) {
	if len(parts) != len(g.members) {
		return nil, fmt.Errorf("mgj: %d parts for %d GPUs", len(parts), len(g.members))
	}
	if err := alike(parts); err != nil {
		return nil, err
	}
	j := &join{start: start, group: g, options: o, parts: parts, outputs: make([]*columnar.Output, len(parts)), report: &Report{Strategy: o.Strategy, Members: make([]*columnar.Report, len(parts))}}
	j.cut = phj.Cut{Devices: len(parts), Sample: o.Strategy == Exchange, Staged: g.through != nil}
	for _, p := range parts {
		j.cut.Rows[0] += p.Build.Rows
		j.cut.Rows[1] += p.Probe.Rows
		j.cut.OutputRows += p.OutputRows
	}
	j.cut.Ranges = j.ranges()
	j.cut.Sending = j.sending(0)
	if err := j.open(ctx, 0); err != nil {
		return j, err
	}
	for _, x := range j.shares {
		if !parts[0].Phases {
			break
		}
		sent, err := x.Sent()
		if err != nil {
			return nil, err
		}
		j.report.Sent = append(j.report.Sent, sent)
	}
	j.report.WallMS = j.sinceStart()
	return j, nil
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

// fullest returns the GPU that has most bytes.
func fullest(parts []columnar.Join) (gpu int) {
	most := int64(-1)
	for i := range parts {
		if bytes := parts[i].Build.Bytes() + parts[i].Probe.Bytes(); bytes > most {
			most, gpu = bytes, i
		}
	}
	return gpu
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
	start   time.Time
	group   *Group
	options Options
	parts   []columnar.Join
	cut     phj.Cut
	shares  []*phj.Share
	outputs []*columnar.Output
	report  *Report
	cold    []int64 // probe rows without a hot key, by GPU, as estimated; nil: hot keys are joined like others

	first    [2][][]int64    // rows of the first ranges by side, GPU and partition
	to       [2][][]uint64   // the GPUs that get rows, by side, partition and GPU
	counts   [][][]int64     // rows by flow, GPU and partition
	received [][]int64       // rows by flow and GPU
	staged   [][][]phj.Block // by flow, sender and receiver, if rows are staged
	blocks   []int           // that send, by flow
}

// sinceStart returns the milliseconds since the join began.
func (j *join) sinceStart() float64 { return float64(time.Since(j.start)) / float64(time.Millisecond) }

// ended notes the end of a step of the host.
func (j *join) ended(step string) {
	j.report.Host = append(j.report.Host, columnar.Phase{Name: step, MS: j.sinceStart()})
}

// ranges returns the ranges of both sides: several where rows of one are partitioned while
// the next one is sent.
func (j *join) ranges() (n [2]int) {
	n = [2]int{1, 1}
	if j.options.Strategy == Exchange {
		n = exchangeRanges(len(j.parts), j.cut.Staged)
		for side := range n {
			n[side] = int(min(int64(n[side]), max(1, j.sent(side)/leastRange)))
		}
	}
	for side, asked := range j.options.Ranges {
		if asked > 0 {
			n[side] = asked
		}
	}
	return n
}

// sent returns about how many bytes of a side a GPU sends to others in an exchange.
func (j *join) sent(side int) int64 {
	n := int64(len(j.parts))
	row := [2]*columnar.Side{&j.parts[0].Build, &j.parts[0].Probe}[side].RowBytes()
	return j.cut.Rows[side] * int64(row) / n * (n - 1) / n
}

// leastRange is how many bytes a GPU sends to others in a range, at least: a further range
// costs the host 30 µs, and hides part of a pass over as many rows.
const leastRange = 24 << 20

// exchangeRanges returns the ranges of both sides in an exchange. Tables are larger for many
// GPUs, and for staged rows, with as much memory for them.
func exchangeRanges(gpus int, staged bool) [2]int {
	switch many := gpus > 8; {
	case many && staged:
		return [2]int{1, 1}
	case many || staged:
		return [2]int{1, 3}
	}
	return [2]int{2, probeRanges}
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
	m, cut := g.members[i], j.cut
	for _, p := range j.parts[:i] {
		cut.Before[0] += p.Build.Rows
		cut.Before[1] += p.Probe.Rows
	}
	out, report, err := phj.Together(ctx, m.Device, m.Stream, m.Arena, &j.parts[i], g.senders[i], cut, func(x *phj.Share) (*columnar.Output, error) {
		j.shares = append(j.shares, x)
		err := j.open(ctx, i+1)
		return j.outputs[i], err
	})
	j.outputs[i], j.report.Members[i] = out, report
	return err
}

// each calls f for all shares at once: work that is queued for one GPU after the other
// would begin late on the last one.
func (j *join) each(f func(i int, x *phj.Share)) {
	var others sync.WaitGroup
	for i, x := range j.shares[1:] {
		others.Go(func() { f(i+1, x) })
	}
	f(0, j.shares[0])
	others.Wait()
}

// run executes the join on all shares.
func (j *join) run(ctx context.Context) error {
	for i, x := range j.shares {
		if x.Layout() != j.shares[0].Layout() {
			return fmt.Errorf("mgj: GPU %d lays rows out in another way than GPU 0: %w", i, joincore.ErrUnsupported)
		}
	}
	j.ended("planned")
	if j.options.Bloom {
		if err := j.reduce(ctx); err != nil {
			return err
		}
		j.ended("probe side reduced")
	}
	j.each(func(_ int, x *phj.Share) {
		x.CountBuild()
		x.CountProbe()
	})
	if err := j.countFirst(ctx); err != nil {
		return err
	}
	if j.mayHaveHot() && j.sampleKeys() {
		if err := j.bypassHot(ctx); err != nil {
			return err
		}
	}
	if err := j.assign(ctx); err != nil {
		return err
	}
	queued, err := j.place(ctx)
	if err != nil {
		return err
	}
	if err := j.join(ctx, queued); err != nil {
		return err
	}
	j.ended("all queued")
	for i, x := range j.shares {
		out, err := x.Finish(ctx)
		if err != nil {
			return err
		}
		j.outputs[i] = out
	}
	return nil
}

// join queues the second passes that place has not queued, and the match. A GPU partitions
// what it has received of a flow while all send the next one, each kernel on
// multiprocessors of its own.
func (j *join) join(ctx context.Context, from int) error {
	if !j.cut.Staged {
		j.each(func(i int, x *phj.Share) {
			for side := min(from, 1); side < 2; side++ {
				x.Prepare(side)
			}
			for flow := from; flow < len(j.counts); flow++ {
				j.second(i, flow)
			}
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
	for flow := range j.counts {
		if err := j.copyFlow(ctx, flow); err != nil {
			return err
		}
		j.each(func(i int, _ *phj.Share) { j.second(i, flow) })
	}
	j.each(func(_ int, x *phj.Share) { x.Match() })
	return nil
}

// second queues GPU i's second pass over a flow, behind what sends it rows.
func (j *join) second(i, flow int) {
	x, to, sending := j.shares[i], j.to[0], 0
	if flow >= x.Builds() {
		to = j.to[1]
	}
	switch next := flow + 1; {
	case next < len(j.blocks):
		sending = j.blocks[next]
	case next < x.Flows() && j.options.Strategy == Exchange: // not counted yet
		sending = j.sending(next)
	}
	for from, other := range j.shares {
		if sends(j.counts[flow][from], to, from, i) {
			x.Await(other, flow)
		}
	}
	x.Second(flow, j.received[flow][i], sending)
}

// sending returns how many blocks send a flow to other GPUs. While the first flow is sent,
// there is nothing to partition.
func (j *join) sending(flow int) int {
	sms := j.group.members[0].Device.Info().SMs
	switch {
	case j.options.Blocks > 0:
		return j.options.Blocks
	case flow == 0:
		return sms * 3 / 4
	}
	return sms * 3 / 5
}
