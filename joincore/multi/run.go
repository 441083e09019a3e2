package multi

import (
	"context"
	"math"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/exec"
)

// run has the members execute the fragment, frees its tables, and adds up the members'
// statistics. sink returns where a member's rows go.
func (f *fragment) run(plan *joincore.Checked, sink func(member int) joincore.Sink) (outcome, error) {
	x := f.x
	defer f.free()
	stats := make([]joincore.Stats, x.members())
	works := make([]bool, x.members())
	for _, m := range f.busy() {
		works[m] = true
	}
	start := time.Now()
	common := f.common(works)
	err := x.each(func(ctx context.Context, member int) error {
		if !works[member] {
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
		if common != nil {
			opt.Device.Common = common[member]
		}
		to := sink(member)
		err := exec.Run(ctx, x.p.members[member], plan, inputs, x.mem, to, opt, &stats[member])
		if s, ok := to.(*startSink); ok && err == nil {
			s.arrive()
		}
		return err
	})
	out := outcome{wall: time.Since(start)}
	for m := range stats {
		if works[m] {
			out.add(f, &stats[m])
		}
	}
	x.waited = max(x.waited, idle(stats, works))
	x.sent += out.sent
	x.hops = max(x.hops, out.hops)
	if err == nil {
		f.note(out)
	}
	return out, err
}

// decide makes all members decide alike where there is something to decide.
func (f *fragment) decide(join int, own costmodel.Decision) costmodel.Decision {
	j := &f.joins[join]
	if !j.decided {
		return own
	}
	own.BuildLeft = j.decision.BuildLeft
	if j.decision.Algorithm != 0 {
		own.Algorithm = j.decision.Algorithm
	}
	if j.decision.Bits != 0 {
		own.Bits = j.decision.Bits
	}
	return own
}

// idle returns how long the member that was done first had no work while the last one
// was busy.
func idle(stats []joincore.Stats, works []bool) time.Duration {
	first, last := time.Duration(math.MaxInt64), time.Duration(0)
	for m := range stats {
		took := time.Duration(0)
		if works[m] {
			took = stats[m].JoinTime
		}
		first, last = min(first, took), max(last, took)
	}
	return last - first
}

// outcome is what the members report of a fragment, together. They work at the same
// time, so that times are those of the slowest.
type outcome struct {
	rows, bytes int64
	time        time.Duration // without waiting for the sink
	wall        time.Duration
	joins       []joincore.JoinStats // in post-order
	aggregates  []joincore.AggregateStats
	sent        int64 // bytes that devices copied from each other
	hops        int   // links that each of these bytes crossed
}

func (o *outcome) add(f *fragment, s *joincore.Stats) {
	o.sent += s.Sent
	o.hops = max(o.hops, s.Hops)
	o.rows += s.RowsOut
	o.bytes += s.BytesOut
	o.time = max(o.time, s.JoinTime)
	for i := range s.Joins {
		if i == len(o.joins) {
			o.joins = append(o.joins, joincore.JoinStats{})
		}
		addJoin(&o.joins[i], &s.Joins[i], f.joins[i].same)
	}
	for i := range s.Aggregates {
		if i == len(o.aggregates) {
			o.aggregates = append(o.aggregates, joincore.AggregateStats{})
		}
		a, b := &o.aggregates[i], &s.Aggregates[i]
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
	for _, p := range j.Phases {
		to.Phases = longest(to.Phases, p)
	}
}

// longest keeps the longer time of a phase.
func longest(phases []joincore.Phase, p joincore.Phase) []joincore.Phase {
	for i := range phases {
		if q := &phases[i]; q.Name == p.Name {
			q.Actual, q.Predicted = max(q.Actual, p.Actual), max(q.Predicted, p.Predicted)
			return phases
		}
	}
	return append(phases, p)
}

// note keeps the statistics of the fragment's joins and aggregates.
func (f *fragment) note(o outcome) {
	x := f.x
	for i := range min(len(f.joins), len(o.joins)) {
		j := &x.joins[x.number[f.joins[i].of]]
		if !f.joins[i].exchanged {
			*j = o.joins[i]
			continue
		}
		moved, build, probe := j.Phases, j.BuildRows, j.ProbeRows
		*j = o.joins[i]
		// The members do not see rows that find no partner, and see copies.
		j.BuildRows, j.ProbeRows = build, probe
		j.Phases = append(moved, j.Phases...)
		for _, p := range moved {
			j.Time += p.Actual
		}
	}
	for i, g := range f.aggregates {
		if i == len(o.aggregates) {
			break
		}
		a, own := &x.aggregates[x.number[g.of]], o.aggregates[i]
		if g.merges {
			own.RowsIn, own.Strategy = a.RowsIn, a.Strategy
			own.Time += a.Time
			own.Bytes = max(own.Bytes, a.Bytes)
		}
		*a = own
	}
}

// report fills in the statistics of the execution.
func (x *coordinator) report(s *joincore.Stats, took time.Duration) {
	s.Provider = x.p.Name()
	s.RowsOut, s.BytesOut = x.result.rows, x.result.bytes
	s.JoinTime = took - max(x.result.wall-x.result.time, 0) // without waiting for the sink
	s.Joins, s.Aggregates = x.joins, x.aggregates
	s.Devices, s.Waited = x.members(), x.waited
	s.Sent, s.Hops = x.sent+x.exchanged.Bytes, x.hops
	if x.exchanged.Batches > 0 {
		s.Hops = max(s.Hops, int(x.exchanged.Hops/x.exchanged.Batches))
	}
}
