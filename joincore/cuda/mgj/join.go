//go:build cuda

package mgj

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
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
	// Way is how rows get to the GPUs that join them.
	Way Way
	// Ranges in which the build and the probe side are sent; 0: as many as suit the
	// strategy. At most phj.MaxFlows together.
	Ranges [2]phj.Ranges
	// Blocks is how many blocks of a GPU store rows into the memory of others, each on a
	// multiprocessor of its own; 0: about three of five.
	Blocks int
}

// Report has the costs of a join.
type Report struct {
	Strategy Strategy
	Way      phj.Way
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
	for j != nil && j.lighten(err, &o) {
		for i, m := range g.members {
			m.Arena.Rewind(marks[i])
		}
		j, err = g.join(ctx, start, parts, o)
	}
	if err != nil {
		return nil, nil, err
	}
	return j.outputs, j.report, nil
}

// lighten reports whether a join that has failed is worth another attempt, with less memory or
// room for more result rows, and changes its options to those of that attempt.
func (j *join) lighten(err error, o *Options) bool {
	budget := errors.Is(err, joincore.ErrBudget)
	switch {
	case budget && j.cut.Way == phj.Copy:
		o.Way = WayStore
	case j.report.HotKeys > 0 && (budget || errors.Is(err, phj.ErrBypass)):
		o.Bypass = BypassNever
	default:
		return false
	}
	return true
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
	j.cut = phj.Cut{Devices: len(parts), Sample: o.Strategy == Exchange, Spin: spinFor}
	for _, p := range parts {
		j.cut.Rows[0] += p.Build.Rows
		j.cut.Rows[1] += p.Probe.Rows
		j.cut.OutputRows += p.OutputRows
	}
	j.cut.Way = j.way()
	j.report.Way = j.cut.Way
	j.cut.Ranges = j.ranges()
	j.cut.Sending = j.sending(0)
	if err := j.execute(ctx); err != nil {
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
	crew    *crew
	members []member
	shares  []*phj.Share
	outputs []*columnar.Output
	report  *Report
	cold    []int64 // probe rows without a hot key, by GPU, as estimated; nil: hot keys are joined like others

	first  [2][][]int64    // rows of the first ranges by side, GPU and partition
	to     [2][][]uint64   // the GPUs that get rows, by side, partition and GPU
	counts [][][]int64     // rows by flow, GPU and partition
	staged [][][]phj.Block // by flow, sender and receiver, unless rows are stored
	blocks []int           // that send, by flow
}

// sinceStart returns the milliseconds since the join began.
func (j *join) sinceStart() float64 { return float64(time.Since(j.start)) / float64(time.Millisecond) }

// ended notes the end of a step of the host.
func (j *join) ended(step string) {
	j.report.Host = append(j.report.Host, columnar.Phase{Name: step, MS: j.sinceStart()})
}

// way returns how rows get to the GPUs that join them.
func (j *join) way() phj.Way {
	switch {
	case j.group.through != nil:
		return phj.Stage
	case j.options.Way == WayCopy, j.options.Way == WayFastest && j.copiesPay():
		return phj.Copy
	}
	return phj.Store
}

// copiesPay reports whether copies of rows are faster than stores. Stores begin earlier, and
// wait for the links; copies read and write memory once more. What is replicated takes links
// only for a while.
func (j *join) copiesPay() bool {
	switch j.options.Strategy {
	case Exchange:
		return j.group.copies && j.sent(0)+j.sent(1) >= leastCopied
	case Replicate:
		return j.sent(0)*int64(len(j.parts)) >= leastReplicated
	}
	return false
}

const (
	// leastCopied and leastReplicated are how many bytes a GPU sends to others, at least, in an
	// exchange and of a build side, if they are copied.
	leastCopied, leastReplicated = 192 << 20, 64 << 20
	// copiesFrom is by how much memory has to be faster than links, if rows of an exchange are
	// copied: an H200's is 13 times faster, an H100's 9 times.
	copiesFrom = 11
)

// ranges returns the ranges of both sides: several where rows of one are partitioned while
// the next one is sent.
func (j *join) ranges() (list [2]phj.Ranges) {
	list = [2]phj.Ranges{phj.Even(1), phj.Even(1)}
	if j.options.Strategy == Exchange {
		list = exchangeRanges(len(j.parts), j.cut.Way)
		for side := range list {
			if most := int(max(1, j.sent(side)/leastRange)); most < list[side].Count() {
				list[side] = phj.Even(most)
			}
		}
	}
	for side, asked := range j.options.Ranges {
		if asked.Count() > 0 {
			list[side] = asked
		}
	}
	return list
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
// GPUs, and for rows in blocks, with as much memory for them.
func exchangeRanges(gpus int, way phj.Way) [2]phj.Ranges {
	switch many := gpus > 8; {
	case many && way != phj.Store:
		return [2]phj.Ranges{phj.Even(1), phj.Even(1)}
	case many || way == phj.Stage || way == phj.Copy && gpus > 4:
		return [2]phj.Ranges{phj.Even(1), phj.Even(3)}
	case way == phj.Copy:
		return copied
	}
	return [2]phj.Ranges{phj.Even(2), phj.Even(5)}
}

// copied are ranges of rows that are copied: links begin when the first one has been
// partitioned, and the match when the last one has arrived and been partitioned again.
var copied = [2]phj.Ranges{{1, 2}, {2, 3, 2, 1}}

// member is a GPU's part in a join.
type member struct {
	share atomic.Pointer[phj.Share] // when it is planned and, unless a filter comes first, begins to count
	ended atomic.Bool               // without success, if there is no share
	err   error
}

// execute opens the shares of all GPUs at once, runs the join on them, and closes them when all
// work is done.
func (j *join) execute(ctx context.Context) error {
	var failed error // read when the crew is closed
	j.members, j.shares = make([]member, len(j.parts)), make([]*phj.Share, len(j.parts))
	j.crew = newCrew(len(j.parts), func(c *crew, i int) {
		j.members[i].err = j.open(ctx, i, func() error {
			c.serve(i)
			return failed
		})
		j.members[i].ended.Store(true)
	})
	if failed = j.opened(); failed == nil {
		if failed = j.run(ctx); failed != nil {
			j.crew.wait()
			failed = errors.Join(failed, j.group.sync(ctx))
		}
	} // else no GPU has work for others, and each share waits for its own
	j.crew.Close()
	if failed != nil {
		return failed
	}
	var errs []error
	for i := range j.members {
		errs = append(errs, j.members[i].err)
	}
	return errors.Join(errs...)
}

// open opens the share of GPU i, begins to count its rows, and closes it when serve returns.
func (j *join) open(ctx context.Context, i int, serve func() error) error {
	m, cut := j.group.members[i], j.cut
	for _, p := range j.parts[:i] {
		cut.Before[0] += p.Build.Rows
		cut.Before[1] += p.Probe.Rows
	}
	out, report, err := phj.Together(ctx, m.Device, m.Stream, m.Arena, &j.parts[i], j.group.senders[i], cut, func(x *phj.Share) (*columnar.Output, error) {
		if !j.options.Bloom {
			if err := x.CountBuild(); err != nil {
				return nil, err
			}
		}
		j.members[i].share.Store(x)
		if !j.options.Bloom {
			x.CountProbe()
		}
		err := serve()
		return j.outputs[i], err
	})
	j.outputs[i], j.report.Members[i] = out, report
	return err
}

// opened waits until all shares are open.
func (j *join) opened() error {
	for i := range j.members {
		m := &j.members[i]
		await(func() bool { return m.share.Load() != nil || m.ended.Load() })
		if j.shares[i] = m.share.Load(); j.shares[i] == nil {
			return m.err
		}
	}
	return nil
}

// each calls f for all shares at once: work that is queued for one GPU after the other
// would begin late on the last one.
func (j *join) each(f func(i int, x *phj.Share)) {
	j.begin(f)
	j.crew.wait()
}

// begin is each, without waiting for the calls. Until they have ended, nothing else may be done
// with the shares.
func (j *join) begin(f func(i int, x *phj.Share)) {
	j.crew.start(func(i int) { f(i, j.shares[i]) })
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
		j.crew.wait()
		if err := j.reduce(ctx); err != nil {
			return err
		}
		j.ended("probe side reduced")
		errs := make([]error, len(j.shares))
		j.each(func(i int, x *phj.Share) { errs[i] = x.CountBuild() })
		if err := errors.Join(errs...); err != nil {
			return err
		}
		j.begin(func(_ int, x *phj.Share) { x.CountProbe() })
	}
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
	errs := make([]error, len(j.shares))
	j.each(func(i int, x *phj.Share) { j.outputs[i], errs[i] = x.Finish(ctx) })
	return errors.Join(errs...)
}

// join queues the second passes that place has not queued, and the match. A GPU partitions
// what it has received of a flow while all send the next one, each kernel on
// multiprocessors of its own.
func (j *join) join(ctx context.Context, from int) error {
	if j.cut.Way != phj.Stage {
		j.each(func(i int, x *phj.Share) {
			for side := min(from, 1); side < 2; side++ {
				x.Prepare(side)
			}
			j.seconds(i, from, len(j.counts))
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
		j.each(func(i int, _ *phj.Share) { j.seconds(i, flow, flow+1) })
	}
	j.each(func(_ int, x *phj.Share) { x.Match() })
	return nil
}

// seconds queues GPU i's second passes over the flows from one on to the one before end.
//
// If rows are copied, rows that a GPU keeps are there before those of others: so it
// partitions its own rows of the next flow first.
func (j *join) seconds(i, from, end int) {
	gpus := len(j.shares)
	for flow := from; flow < end; flow++ {
		switch j.cut.Way {
		case phj.Store:
			j.second(i, flow, 0, 0, gpus)
		case phj.Copy:
			j.second(i, flow, i, i, 1)
			if flow > from {
				j.fromOthers(i, flow-1)
			}
		case phj.Stage:
			for g := range gpus {
				j.second(i, flow, g, g, 1)
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
		j.second(i, flow, from, from, 1)
	}
}

// second queues GPU i's second pass with the given number over rows of a flow that the
// GPUs from one on send it, behind what sends them.
func (j *join) second(i, flow, pass, from, senders int) {
	x, to, sending, rows := j.shares[i], j.to[0], 0, int64(0)
	if flow >= x.Builds() {
		to = j.to[1]
	}
	for g := from; g < from+senders; g++ {
		if n := receivedOf(j.counts[flow][g], to, g, i); n > 0 {
			rows += n
			x.Await(j.shares[g], flow)
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

// sending returns how many blocks send a flow to other GPUs; 0: as many as a GPU holds, which
// do not wait for links. While the first flow is sent, there is nothing to partition.
func (j *join) sending(flow int) int {
	sms := j.group.members[0].Device.Info().SMs
	switch {
	case j.options.Blocks > 0:
		return j.options.Blocks
	case j.cut.Way == phj.Copy:
		return 0
	case flow == 0:
		return sms * 3 / 4
	}
	return sms * 3 / 5
}
