package multi

import (
	"context"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/run"
)

// run has the members execute the fragment, frees its tables, and adds up the members'
// statistics. sink returns where a member's rows go: the given columns of the plan.
func (f *fragment) run(output []joincore.ColumnRef, sink func(member int) joincore.Sink) (outcome, error) {
	x := f.x
	defer f.free()
	plan := f.plan(output)
	stats := make([]joincore.Stats, x.members())
	works := make([]bool, x.members())
	for _, m := range f.busy() {
		works[m] = true
	}
	start := time.Now()
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
		return run.Run(ctx, x.p.members[member], plan, inputs, x.mem, sink(member), opt, &stats[member])
	})
	out := outcome{wall: time.Since(start)}
	for m := range stats {
		if works[m] {
			out.add(&stats[m])
		}
	}
	if err == nil {
		f.note(out)
	}
	return out, err
}

// decide makes all members decide alike where there is something to decide.
func (f *fragment) decide(_ int, own costmodel.Decision) costmodel.Decision {
	own.BuildLeft = f.decision.BuildLeft
	if f.decision.Algorithm != 0 {
		own.Algorithm = f.decision.Algorithm
	}
	if f.decision.Bits != 0 {
		own.Bits = f.decision.Bits
	}
	return own
}

// outcome is what the members report of a fragment, together. They work at the same
// time, so that times are those of the slowest.
type outcome struct {
	rows, bytes int64
	time        time.Duration // without waiting for the sink
	wall        time.Duration
	join        joincore.JoinStats
	joins       int // members that report one
	aggregates  []joincore.AggregateStats
}

func (o *outcome) add(s *joincore.Stats) {
	o.rows += s.RowsOut
	o.bytes += s.BytesOut
	o.time = max(o.time, s.JoinTime)
	for i := range s.Joins {
		o.addJoin(&s.Joins[i])
	}
	for i := range s.Aggregates {
		if i == len(o.aggregates) {
			o.aggregates = append(o.aggregates, joincore.AggregateStats{})
		}
		a, b := &o.aggregates[i], &s.Aggregates[i]
		if a.Strategy == "" || a.RowsIn < b.RowsIn {
			a.Strategy = b.Strategy
		}
		a.RowsIn += b.RowsIn
		a.Groups += b.Groups
		a.Time = max(a.Time, b.Time)
		a.Bytes += b.Bytes
	}
}

// addJoin takes the algorithm of a member that could not execute the one that was asked
// for, if there is any.
func (o *outcome) addJoin(j *joincore.JoinStats) {
	first := o.joins == 0
	o.joins++
	if first || o.join.Reason == "" && j.Reason != "" {
		o.join.Algorithm, o.join.Reason, o.join.Bits, o.join.BuildLeft = j.Algorithm, j.Reason, j.Bits, j.BuildLeft
	}
	o.join.BuildRows += j.BuildRows
	o.join.ProbeRows += j.ProbeRows
	o.join.RowsOut += j.RowsOut
	o.join.Time = max(o.join.Time, j.Time)
	o.join.Work.Add(j.Work)
	for _, p := range j.Phases {
		o.join.Phases = longest(o.join.Phases, p)
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

// note keeps the statistics of the fragment's join and aggregates.
func (f *fragment) note(o outcome) {
	x := f.x
	if f.join != nil && o.joins > 0 {
		j := &x.joins[x.number[f.join]]
		moved, build, probe := j.Phases, j.BuildRows, j.ProbeRows
		*j = o.join
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
func (x *execution) report(s *joincore.Stats, took time.Duration) {
	s.Provider = x.p.Name()
	s.RowsOut, s.BytesOut = x.result.rows, x.result.bytes
	s.JoinTime = took - x.waited()
	s.Joins, s.Aggregates = x.joins, x.aggregates
}

// waited returns how long the last fragment has waited for the sink.
func (x *execution) waited() time.Duration { return max(x.result.wall-x.result.time, 0) }
