package sidecar

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
)

// report builds the STATS message. While the join runs, it contains the numbers
// known so far.
func (j *job) report() []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := &shm.Report{}
	r.QueueUS = uint64(j.queued.Microseconds())
	r.RowsIn, r.BytesIn = uint64(j.rowsIn), uint64(j.bytesIn)
	r.PeakBytes = uint64(j.account.Peak())
	if e := j.exec; e != nil {
		shm.PutText(r.Provider[:], e.provider)
		shm.PutText(r.Fallback[:], e.fallback)
		r.RowsOut, r.BytesOut = uint64(e.rowsOut), uint64(e.bytesOut)
		r.JoinUS = uint64((e.stats.JoinTime + j.readTime()).Microseconds())
		r.Devices, r.Hops, r.SentBytes = uint32(e.stats.Devices), uint32(e.stats.Hops), uint64(e.stats.Sent)
		r.DeviceWaitUS = uint64(e.stats.Waited.Microseconds())
		r.MeetingWaitUS = uint64((e.stats.Met + time.Microsecond - 1).Microseconds()) // 0: there was no meeting
		r.PredictedUS = uint64(e.stats.Predicted.Microseconds())
		shm.PutText(r.Strategy[:], e.stats.Strategy)
		shm.PutText(r.StrategyReason[:], e.stats.StrategyReason)
		shm.PutText(r.Alone[:], e.stats.Alone)
		for i := range e.stats.Joins {
			r.JoinList = append(r.JoinList, joinReport(i, &e.stats.Joins[i]))
		}
		for i := range min(len(e.stats.Aggregates), shm.MaxInputs) {
			r.AggregateList = append(r.AggregateList, aggregateReport(&e.stats.Aggregates[i]))
		}
	}
	r.FilterList = j.filterReports()
	sums := maps.Clone(j.past)
	for _, p := range j.participants {
		sums[p.stats.Participant] = sumStats(sums[p.stats.Participant], p.stats)
	}
	for _, p := range slices.Sorted(maps.Keys(sums)) {
		r.ParticipantList = append(r.ParticipantList, sums[p])
	}
	return shm.AppendReport(nil, r)
}

// joinReport returns the statistics of the join at position at of the plan tree,
// in post-order.
func joinReport(at int, s *joincore.JoinStats) shm.JoinReport {
	r := shm.JoinReport{JoinStats: shm.JoinStats{
		Join: uint32(at), Bits: uint32(s.Bits), BuildRows: uint64(s.BuildRows), ProbeRows: uint64(s.ProbeRows),
		RowsOut: uint64(s.RowsOut), US: uint64(s.Time.Microseconds()),
	}}
	if s.BuildLeft {
		r.BuildLeft = 1
	}
	algorithm := s.Algorithm
	if s.Devices > 1 {
		algorithm = fmt.Sprintf("%s x%d", algorithm, s.Devices)
	}
	shm.PutText(r.Algorithm[:], algorithm)
	shm.PutText(r.Reason[:], s.Reason)
	for _, p := range joincore.FoldPhases(s.Phases, shm.MaxPhases) {
		w := shm.PhaseStats{PredictedNS: uint64(p.Predicted), ActualNS: uint64(p.Actual)}
		shm.PutText(w.Name[:], p.Name)
		r.PhaseList = append(r.PhaseList, w)
	}
	return r
}

func aggregateReport(s *joincore.AggregateStats) shm.AggregateStats {
	r := shm.AggregateStats{
		RowsIn: uint64(s.RowsIn), Groups: uint64(s.Groups), Bytes: uint64(s.Bytes), US: uint64(s.Time.Microseconds()),
	}
	shm.PutText(r.Strategy[:], s.Strategy)
	return r
}

// logWork logs the work of each join on its device, which STATS does not
// contain.
func (e *jobRun) logWork(stats *joincore.Stats) {
	for i := range stats.Joins {
		s := &stats.Joins[i]
		e.job.srv.log.Debug("join finished", "job", e.job.id, "join", i, "provider", e.provider, "algorithm", s.Algorithm,
			"rows", s.RowsOut, "time", s.Time, "launches", s.Work.Launches, "syncs", s.Work.Syncs, "bytes", s.Work.Bytes, "peak", s.Work.Peak)
	}
}

// sumStats adds the statistics of two connections of the same participant. A
// participant may have several connections after rewinds.
func sumStats(a, b shm.ParticipantStats) shm.ParticipantStats {
	return shm.ParticipantStats{
		Participant: b.Participant,
		FedRows:     a.FedRows + b.FedRows, FedBytes: a.FedBytes + b.FedBytes,
		FeedUS: a.FeedUS + b.FeedUS, WaitUS: a.WaitUS + b.WaitUS,
		ReturnedRows: a.ReturnedRows + b.ReturnedRows, ReturnUS: a.ReturnUS + b.ReturnUS,
	}
}

// totals count since the start. Each request for a job is admitted or refused. Each
// admitted job that has ended has finished, was cancelled or has failed.
type totals struct {
	Joins         int64            `json:"joins"`  // executed, rewinds included
	Blocks        int64            `json:"blocks"` // executed aggregations of query blocks, rewinds included
	Admitted      int64            `json:"admitted"`
	Finished      int64            `json:"finished"`  // all rows were delivered
	Cancelled     int64            `json:"cancelled"` // a backend left before all rows were delivered
	Failed        int64            `json:"failed"`
	Refused       int64            `json:"refused"`
	Fallbacks     int64            `json:"fallbacks"` // refused, or failed before the first row: native plans
	Reasons       map[string]int64 `json:"reasons"`   // of refused and failed, those that occurred
	Violations    int64            `json:"protocol_errors"`
	RejectedPeers int64            `json:"rejected_peers"` // connections refused because of the peer's user
}

// counters are the totals of a server.
type counters struct {
	mu     sync.Mutex
	totals totals
}

// count changes the totals.
func (c *counters) count(change func(*totals)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.totals)
}

// now returns a copy of the totals.
func (c *counters) now() totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.totals
	t.Reasons = maps.Clone(t.Reasons)
	return t
}

// refuse counts a job that was not admitted.
func (c *counters) refuse(f *failure) {
	c.count(func(t *totals) {
		t.Refused++
		t.Fallbacks++
		t.Reasons[f.code.String()]++
	})
}

// fail counts an admitted job that failed. returning reports whether the
// backend had already received RUNNING.
func (c *counters) fail(f *failure, returning bool) {
	c.count(func(t *totals) {
		t.Failed++
		if !returning {
			t.Fallbacks++
		}
		t.Reasons[f.code.String()]++
	})
}
