//go:build cuda

package mgj

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/columnar/selector"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/exchange"
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
	// NoCopies: an exchange copies no small side of a partition to several GPUs.
	NoCopies bool
	// NoOverlap: no rows are partitioned again before all rows of all GPUs have arrived, and
	// unless Ranges says otherwise, a side is sent in one range.
	NoOverlap bool
	// Pack says when rows are compressed before they cross links.
	Pack Pack
	// Policy chooses the routes of rows that a fabric copies; nil: exchange.Adaptive.
	Policy exchange.Policy
}

// Report has the costs of a join.
type Report struct {
	Strategy Strategy
	Way      phj.Way
	WallMS   float64 // on the host, from entry to return
	Members  []*columnar.Report
	Sent     [][]float64 // by member and flow: ms from the begin until it was sent; nil unless phases were asked for
	Bytes    int64       // of rows that were sent to other GPUs
	// Packed are those of rows that were compressed, and Saved what they did not take on links.
	Packed, Saved int64
	Copied        live.Stats // if rows are staged
	// Host has the steps of the host, with the ms from entry to the end of each.
	Host []columnar.Phase
	// Copies is the number of partitions of which a small side was copied to several GPUs, and
	// Assigned the bytes that the assignment of partitions expected to be sent.
	Copies   int
	Assigned int64
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
	case budget && j.packs && o.Pack != PackNever:
		o.Pack = PackNever
	case budget && j.cut.Way == phj.Copy:
		o.Way = WayStore
	case budget && j.report.Copies > 0:
		o.NoCopies = true
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
	j.packer = newPacker(o.Pack, g.gbps(), selector.Rates(g.members[0].Device).CompressGB())
	j.cut.Way = j.way()
	j.packs = j.cut.Way != phj.Store && j.mayPack()
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
	equal := func(a, b *columnar.Side) bool {
		return a.Key.Bytes == b.Key.Bytes && slices.Equal(columnar.Widths(a.Payload), columnar.Widths(b.Payload))
	}
	first := &parts[0]
	for i := range parts {
		p := &parts[i]
		if p.RowIDs != first.RowIDs || p.NoKey != first.NoKey || !equal(&p.Build, &first.Build) || !equal(&p.Probe, &first.Probe) {
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
	expect [][]int64       // rows of the probe side by GPU and partition, as the first range promises
	to     [2][][]uint64   // the GPUs that get rows, by side, partition and GPU
	counts [][][]int64     // rows by flow, GPU and partition
	staged [][][]phj.Block // by flow, sender and receiver, unless rows are stored
	blocks []int           // that send, by flow

	packer  packer
	packs   bool // rows may be compressed
	packing packing
}

// sinceStart returns the milliseconds since the join began.
func (j *join) sinceStart() float64 { return float64(time.Since(j.start)) / float64(time.Millisecond) }

// ended notes the end of a step of the host.
func (j *join) ended(step string) {
	j.report.Host = append(j.report.Host, columnar.Phase{Name: step, MS: j.sinceStart()})
}

// run executes the join on all shares.
func (j *join) run(ctx context.Context) error {
	for i, x := range j.shares {
		if x.Layout() != j.shares[0].Layout() {
			return fmt.Errorf("mgj: GPU %d lays rows out in another way than GPU 0: %w", i, joincore.ErrUnsupported)
		}
	}
	j.ended("planned")
	j.beginPacking()
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
	if err := j.queue(ctx, queued); err != nil {
		return err
	}
	j.ended("all queued")
	errs := make([]error, len(j.shares))
	j.each(func(i int, x *phj.Share) { j.outputs[i], errs[i] = x.Finish(ctx) })
	j.reportPacked()
	return errors.Join(errs...)
}

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
