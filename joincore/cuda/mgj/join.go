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
	"gpujoin/joincore/exchange/live"
)

// Options are decisions taken from the join.
type Options struct {
	Strategy Strategy
	// Bloom: a Bloom filter of the build keys of all GPUs drops probe rows before any is sent,
	// if memory suffices, GPUs store into each other's memory and the result has columns.
	Bloom bool
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
	Sent     [][]float64 // by member and flow: ms from the begin until it was sent
	Bytes    int64       // sent to other GPUs
	Copied   live.Stats  // if rows are staged
	// Host has the steps of the host, with the ms from entry to the end of each.
	Host []columnar.Phase
}

// Join joins sides whose rows lie in the memory of the group's GPUs: parts are the GPUs'
// own rows, with columns of the same widths everywhere. Row ids in a result number the rows
// of all parts, in their order. The result's rows stay on the GPU
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
	j := &join{start: start, group: g, options: o, parts: parts, outputs: make([]*columnar.Output, len(parts)), report: &Report{Strategy: o.Strategy, Members: make([]*columnar.Report, len(parts))}}
	j.cut = phj.Cut{Devices: len(parts), Sample: o.Strategy == Exchange, Staged: g.through != nil}
	j.cut.Ranges = j.ranges()
	for _, p := range parts {
		j.cut.Rows[0] += p.Build.Rows
		j.cut.Rows[1] += p.Probe.Rows
		j.cut.OutputRows += p.OutputRows
	}
	j.cut.Sending = j.sending()
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
	j.report.WallMS = j.sinceStart()
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
	}
	for side, asked := range j.options.Ranges {
		if asked > 0 {
			n[side] = asked
		}
	}
	return n
}

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

// run executes the join on all shares.
func (j *join) run(ctx context.Context) error {
	for i, x := range j.shares {
		if x.Layout() != j.shares[0].Layout() {
			return fmt.Errorf("mgj: GPU %d lays rows out in another way than GPU 0: %w", i, joincore.ErrUnsupported)
		}
	}
	j.ended("planned")
	if j.options.Bloom && !j.cut.Staged {
		if err := j.reduce(ctx); err != nil {
			return err
		}
		j.ended("probe side reduced")
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
	if err := j.join(ctx); err != nil {
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

// assign decides where rows go, by the build side and the first range of the probe side.
// Further ranges are counted meanwhile.
func (j *join) assign(ctx context.Context) error {
	var h exchange.Histograms
	for i, x := range j.shares {
		build, probe, err := x.BuildCounts(ctx)
		if err != nil {
			return err
		}
		j.addCounts(i, 0, build)
		total := make([]int64, x.Partitions())
		for _, counts := range build {
			for p, n := range counts {
				total[p] += n
			}
		}
		if probe == nil {
			probe = make([]int64, len(total))
		}
		h[exchange.Build] = append(h[exchange.Build], total)
		h[exchange.Probe] = append(h[exchange.Probe], estimated(probe, j.cut.Ranges[1]))
	}
	j.ended("build side counted")
	width := [2]int64{j.shares[0].RowBytes(0), j.shares[0].RowBytes(1)}
	var err error
	j.to, err = j.options.Strategy.receivers(h, j.group.mesh, width, fullest(j.parts))
	j.ended("assigned")
	return err
}

// addCounts adds the counts of a GPU's flows from the given one on.
func (j *join) addCounts(gpu, flow int, counts [][]int64) {
	if gpu == 0 {
		j.counts = append(j.counts, make([][][]int64, len(counts))...)
	}
	for i, list := range counts {
		j.counts[flow+i] = append(j.counts[flow+i], list)
	}
}

// place gives all rows places on the GPUs that receive them, and sends them. Those of the
// build side are sent while the probe side is still counted, if memory is not short; else
// all memory is taken before any row is sent.
func (j *join) place(ctx context.Context) error {
	builds := j.shares[0].Builds()
	rows, send, err := j.placeSide(0, j.counts[:builds])
	if err != nil {
		return err
	}
	early := !j.cut.Staged && j.fits(rows)
	if early {
		send()
		j.ended("build side queued")
	}
	for i, x := range j.shares {
		counts, err := x.ProbeCounts(ctx)
		if err != nil {
			return err
		}
		j.addCounts(i, builds, counts)
	}
	j.ended("probe side counted")
	_, sendProbe, err := j.placeSide(1, j.counts[builds:])
	if err != nil {
		return err
	}
	if !early {
		send()
	}
	sendProbe()
	return nil
}

// fits reports whether each GPU has memory for the given build rows, and for the probe
// rows that it can expect.
func (j *join) fits(build []int64) bool {
	for i, x := range j.shares {
		probe := j.cut.Rows[1]
		if j.options.Strategy == Exchange {
			probe = probe/int64(len(j.shares))*9/8 + 1<<16
		}
		if !x.Fits([2]int64{build[i], probe}, j.cut.OutputRows*probe/max(j.cut.Rows[1], 1)) {
			return false
		}
	}
	return true
}

// placeSide gives the rows of a side's flows places, and takes the memory for them. It
// returns the rows of each GPU, and a function that queues what sends them.
func (j *join) placeSide(side int, flows [][][]int64) (rows []int64, send func(), err error) {
	first := len(j.received)
	next := make([]int64, len(j.shares))
	rows = make([]int64, len(j.shares))
	assigned, staged := make([]phj.Assigned, len(j.shares)), make([][][]phj.Block, len(j.shares))
	for i := range assigned {
		assigned[i].To = j.to[side]
	}
	for _, counts := range flows {
		sendings, arrivals, apart := j.layOut(counts, side, next)
		for i := range assigned {
			assigned[i].Sendings = append(assigned[i].Sendings, sendings[i])
			assigned[i].Arrivals = append(assigned[i].Arrivals, arrivals[i])
			if j.cut.Staged {
				staged[i] = append(staged[i], apart[i])
			}
		}
		j.staged = append(j.staged, apart)
		got := received(counts, j.to[side])
		for i, n := range got {
			rows[i] += n
		}
		j.received = append(j.received, got)
		blocks, leave := 0, crossing(counts, j.to[side])
		if leave > 0 {
			blocks = j.sending()
		}
		j.blocks = append(j.blocks, blocks)
		j.report.Bytes += leave * j.shares[0].RowBytes(side)
	}
	for i, x := range j.shares {
		if side == 0 {
			err = x.TakeBuild(rows[i], next[i], staged[i])
		} else {
			err = x.TakeProbe(rows[i], next[i], staged[i], outputRows(j.cut.OutputRows, i, rows))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("GPU %d: %w", i, err)
		}
	}
	return rows, func() {
		for i, x := range j.shares {
			if side == 0 {
				x.AssignBuild(j.shares, i, assigned[i])
			} else {
				x.AssignProbe(j.shares, i, assigned[i])
			}
			for flow := range flows {
				x.Send(first+flow, j.blocks[first+flow])
			}
		}
	}, nil
}

// layOut gives the rows of a flow places: where each GPU sends them, and what each finds.
func (j *join) layOut(counts [][]int64, side int, next []int64) (sendings []phj.Sending, arrivals [][]phj.Arrival, blocks [][]phj.Block) {
	unit := j.shares[0].Unit(side)
	if j.cut.Staged {
		return phj.PlaceBlocks(counts, j.to[side], unit, next)
	}
	sendings, whole := phj.Place(counts, j.to[side], unit, next)
	for _, a := range whole {
		arrivals = append(arrivals, []phj.Arrival{a})
	}
	return sendings, arrivals, nil
}

// join queues the second pass and the match. A GPU partitions what it has received of a
// flow while all send the next one, each kernel on multiprocessors of its own.
func (j *join) join(ctx context.Context) error {
	if j.cut.Staged {
		if err := j.copyCounts(ctx); err != nil {
			return err
		}
	}
	for _, x := range j.shares {
		x.Prepare()
	}
	builds := j.shares[0].Builds()
	for flow, counts := range j.counts {
		to := j.to[0]
		if flow >= builds {
			to = j.to[1]
		}
		sending := 0
		if flow+1 < len(j.blocks) {
			sending = j.blocks[flow+1]
		}
		if j.cut.Staged {
			if err := j.copyFlow(ctx, flow); err != nil {
				return err
			}
		}
		for i, x := range j.shares {
			for from, other := range j.shares {
				if sends(counts[from], to, from, i) {
					x.Await(other, flow)
				}
			}
			x.Second(flow, j.received[flow][i], sending)
		}
	}
	for _, x := range j.shares {
		x.Match()
	}
	return nil
}

// sending returns how many blocks send to other GPUs. Links are the limit for narrow rows
// with fewer blocks.
func (j *join) sending() int {
	sms := j.group.members[0].Device.Info().SMs
	row := max(j.parts[0].Build.RowBytes(), j.parts[0].Probe.RowBytes())
	switch {
	case j.options.Blocks > 0:
		return j.options.Blocks
	case row <= 8:
		return sms * 11 / 20
	}
	return sms * 3 / 5
}
