package sidecar

import (
	"sync/atomic"

	"gpujoin/shm"
)

// counters are totals since the start. Each request for a job is admitted or
// refused. Each admitted job that has ended has finished, was cancelled or has
// failed.
type counters struct {
	joins         atomic.Int64 // executed joins, rewinds included
	blocks        atomic.Int64 // executed aggregations of query blocks, rewinds included
	violations    atomic.Int64 // protocol violations
	rejectedPeers atomic.Int64 // connections refused because of the peer's user

	admitted  atomic.Int64
	finished  atomic.Int64 // all rows were delivered
	cancelled atomic.Int64 // a backend left before all rows were delivered
	failed    atomic.Int64
	refused   atomic.Int64
	fallbacks atomic.Int64 // refused, or failed before the first row: native plans
	reasons   [shm.FailResources + 1]atomic.Int64
}

// refuse counts a job that was not admitted.
func (c *counters) refuse(f *failure) {
	c.refused.Add(1)
	c.fallbacks.Add(1)
	c.because(f)
}

// fail counts an admitted job that failed. returning reports whether the
// backend had already received RUNNING.
func (c *counters) fail(f *failure, returning bool) {
	c.failed.Add(1)
	if !returning {
		c.fallbacks.Add(1)
	}
	c.because(f)
}

func (c *counters) because(f *failure) {
	if int(f.code) < len(c.reasons) {
		c.reasons[f.code].Add(1)
	}
}

// totalsJSON holds the counters in the answer to STATUS_GET.
type totalsJSON struct {
	Joins         int64            `json:"joins"`
	Blocks        int64            `json:"blocks"`
	Admitted      int64            `json:"admitted"`
	Finished      int64            `json:"finished"`
	Cancelled     int64            `json:"cancelled"`
	Failed        int64            `json:"failed"`
	Refused       int64            `json:"refused"`
	Fallbacks     int64            `json:"fallbacks"`
	Reasons       map[string]int64 `json:"reasons"` // of refused and failed, those that occurred
	Violations    int64            `json:"protocol_errors"`
	RejectedPeers int64            `json:"rejected_peers"`
}

func (c *counters) totals() totalsJSON {
	t := totalsJSON{
		Joins: c.joins.Load(), Blocks: c.blocks.Load(), Admitted: c.admitted.Load(), Finished: c.finished.Load(), Cancelled: c.cancelled.Load(),
		Failed: c.failed.Load(), Refused: c.refused.Load(), Fallbacks: c.fallbacks.Load(), Reasons: map[string]int64{},
		Violations: c.violations.Load(), RejectedPeers: c.rejectedPeers.Load(),
	}
	for code := range c.reasons {
		if n := c.reasons[code].Load(); n > 0 {
			t.Reasons[shm.Failure(code).String()] = n
		}
	}
	return t
}
