package multi

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/exec"
)

// run has the members execute the fragment, frees its tables, and adds up the members'
// statistics. sink returns where a member's rows go, and waited is for how long they waited
// for it.
func (f *fragment) run(plan *joincore.Checked, sink func(member int) joincore.Sink) (out joincore.Stats, waited time.Duration, err error) {
	x := f.x
	defer f.free()
	stats, busy := make([]joincore.Stats, x.members()), f.busy()
	start := time.Now()
	common := f.common(busy)
	err = x.each(func(ctx context.Context, member int) error {
		if !slices.Contains(busy, member) {
			return nil
		}
		inputs := make([]*joincore.Relation, len(f.tables))
		for i, t := range f.tables {
			inputs[i] = t.parts[member]
		}
		opt := x.opt
		opt.Decide = f.decide
		if f.copartitions {
			opt.Device.Seed = x.seed
		}
		opt.Device.Common = common[member]
		to := sink(member)
		err := exec.Run(ctx, x.p.members[member], plan, inputs, x.mem, to, opt, &stats[member])
		if s, ok := to.(*startSink); ok && err == nil {
			s.arrive()
		}
		return err
	})
	waited = time.Since(start)
	for m := range stats {
		f.add(&out, &stats[m])
	}
	x.stats.Waited = max(x.stats.Waited, idle(stats))
	x.stats.Sent += out.Sent
	x.stats.Hops = max(x.stats.Hops, out.Hops)
	x.stats.Met = max(x.stats.Met, out.Met)
	x.stats.StrategyReason = cmp.Or(x.stats.StrategyReason, out.StrategyReason)
	if err == nil {
		f.note(&out)
	}
	return out, max(waited-out.JoinTime, 0), err
}

// decide makes all members decide alike where there is something to decide.
func (f *fragment) decide(join int, own costmodel.Decision) costmodel.Decision {
	j := &f.joins[join]
	if !j.decided {
		return own
	}
	own.BuildLeft = j.decision.BuildLeft
	own.Algorithm = cmp.Or(j.decision.Algorithm, own.Algorithm)
	own.Bits = cmp.Or(j.decision.Bits, own.Bits)
	return own
}

// idle returns how long the member that was done first had no work while the last one was busy.
func idle(stats []joincore.Stats) time.Duration {
	first, last := time.Duration(math.MaxInt64), time.Duration(0)
	for _, s := range stats {
		first, last = min(first, s.JoinTime), max(last, s.JoinTime)
	}
	return last - first
}

// add adds what a member reports of a fragment. Members work at the same time, so that times
// are those of the slowest.
func (f *fragment) add(to, s *joincore.Stats) {
	to.Sent += s.Sent
	to.Hops = max(to.Hops, s.Hops)
	to.Met = max(to.Met, s.Met)
	to.StrategyReason = cmp.Or(to.StrategyReason, s.StrategyReason)
	to.RowsOut += s.RowsOut
	to.BytesOut += s.BytesOut
	to.JoinTime = max(to.JoinTime, s.JoinTime)
	for i := range s.Joins {
		if i == len(to.Joins) {
			to.Joins = append(to.Joins, joincore.JoinStats{})
		}
		addJoin(&to.Joins[i], &s.Joins[i], f.joins[i].same)
	}
	for i := range s.Aggregates {
		if i == len(to.Aggregates) {
			to.Aggregates = append(to.Aggregates, joincore.AggregateStats{})
		}
		a, b := &to.Aggregates[i], &s.Aggregates[i]
		if a.Strategy == "" || a.RowsIn < b.RowsIn {
			a.Strategy = b.Strategy
		}
		same := f.aggregates[i].same
		a.RowsIn = total(a.RowsIn, b.RowsIn, same)
		a.Groups = total(a.Groups, b.Groups, same)
		a.Time = max(a.Time, b.Time)
		a.Bytes += b.Bytes
	}
}

// total adds numbers of rows of two members, or returns the larger one if they count the
// same rows.
func total(a, b int64, same bool) int64 {
	if same {
		return max(a, b)
	}
	return a + b
}

// addJoin adds a member's report of a join. same says which sides, left and right, are the
// same rows on all members. It takes the algorithm of a member that could not execute the
// one that was asked for, if there is any.
func addJoin(to, j *joincore.JoinStats, same [2]bool) {
	if to.Devices == 0 || to.Reason == "" && j.Reason != "" {
		to.Algorithm, to.Reason, to.Bits, to.BuildLeft = j.Algorithm, j.Reason, j.Bits, j.BuildLeft
	}
	to.Devices++
	build, probe := same[1], same[0]
	if j.BuildLeft {
		build, probe = probe, build
	}
	to.BuildRows = total(to.BuildRows, j.BuildRows, build)
	to.ProbeRows = total(to.ProbeRows, j.ProbeRows, probe)
	to.RowsOut = total(to.RowsOut, j.RowsOut, same[0] && same[1])
	to.Time = max(to.Time, j.Time)
	to.Work.Add(j.Work)
	for _, p := range j.Phases { // the longer times count
		i := slices.IndexFunc(to.Phases, func(q joincore.Phase) bool { return q.Name == p.Name })
		if i < 0 {
			to.Phases = append(to.Phases, p)
			continue
		}
		q := &to.Phases[i]
		q.Actual, q.Predicted = max(q.Actual, p.Actual), max(q.Predicted, p.Predicted)
	}
}

// note keeps the statistics of the fragment's joins and aggregates.
func (f *fragment) note(o *joincore.Stats) {
	x := f.x
	for i := range o.Joins {
		x.stats.Joins[x.number[f.joins[i].of]] = o.Joins[i]
	}
	for i, own := range o.Aggregates {
		g := f.aggregates[i]
		a := &x.stats.Aggregates[x.number[g.of]]
		if g.merges {
			own.RowsIn, own.Strategy = a.RowsIn, a.Strategy
			own.Time += a.Time
			own.Bytes = max(own.Bytes, a.Bytes)
		}
		*a = own
	}
}

// start holds back the rows of members until each of them has some or has ended. A member
// that lacks memory fails before that, and then another one can execute the plan alone.
type start struct {
	mu      sync.Mutex
	missing int
	begun   chan struct{} // closed when none is missing
	heap    []float64     // that batches of all members are asked with; nil: none yet
}

func newStart(members int) *start { return &start{missing: members, begun: make(chan struct{})} }

// alike is by which factor members' mean sizes of values may differ for batches to be alike.
const alike = 2

// common returns the mean sizes of values that a batch is asked with. Members whose means
// differ little ask alike, because a sink may have batches ready for one shape only.
func (s *start) common(heap []float64) []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heap == nil {
		s.heap = slices.Clone(heap)
	}
	larger := slices.Clone(heap)
	for i, mean := range heap {
		if mean > alike*s.heap[i] || s.heap[i] > alike*mean {
			return heap
		}
		larger[i] = max(mean, s.heap[i])
	}
	s.heap = larger
	return larger
}

// sink returns where one member's rows go.
func (s *start) sink(to joincore.Sink) *startSink { return &startSink{Sink: to, start: s} }

type startSink struct {
	joincore.Sink
	start *start
	once  sync.Once
}

// arrive says that the member has rows or has ended. It may be called several times.
func (s *startSink) arrive() {
	s.once.Do(func() {
		s.start.mu.Lock()
		defer s.start.mu.Unlock()
		if s.start.missing--; s.start.missing == 0 {
			close(s.start.begun)
		}
	})
}

func (s *startSink) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	s.arrive()
	select {
	case <-s.start.begun:
		return s.Sink.NewBatch(ctx, s.start.common(heap))
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
