package sidecar

import (
	"sync"
	"time"
)

// sinceReset counts what totals and phases count, but from the last STATUS_RESET on, or from the
// daemon's start. Totals and phases themselves only grow: monitoring computes rates from them.
type sinceReset struct {
	SinceS float64            `json:"since_s"` // since 1970
	Totals totals             `json:"totals"`
	PhaseS map[string]float64 `json:"phase_s"` // time of each phase, of all jobs together
}

// base is what the counters were at the last reset.
type base struct {
	mu     sync.Mutex
	at     time.Time // zero: there was no reset
	totals totals
	sums   [nPhases]time.Duration
}

// resetCounts makes sinceReset begin anew.
func (srv *Server) resetCounts() {
	b := &srv.base
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.totals, b.sums = time.Now(), srv.counters.now(), srv.phases.sums()
}

// sinceReset returns the counts since the last reset.
func (srv *Server) sinceReset() sinceReset {
	b := &srv.base
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.at
	if at.IsZero() {
		at = srv.started
	}
	out := sinceReset{
		SinceS: float64(at.UnixMicro()) / 1e6, Totals: srv.counters.now().minus(&b.totals), PhaseS: map[string]float64{},
	}
	for i, sum := range srv.phases.sums() {
		out.PhaseS[phaseNames[i]] = (sum - b.sums[i]).Seconds()
	}
	return out
}

// minus returns what was counted after t was before.
func (t totals) minus(before *totals) totals {
	out := totals{
		Joins: t.Joins - before.Joins, Blocks: t.Blocks - before.Blocks,
		Admitted: t.Admitted - before.Admitted, Finished: t.Finished - before.Finished, Cancelled: t.Cancelled - before.Cancelled,
		Failed: t.Failed - before.Failed, Refused: t.Refused - before.Refused, Fallbacks: t.Fallbacks - before.Fallbacks,
		Violations: t.Violations - before.Violations, RejectedPeers: t.RejectedPeers - before.RejectedPeers,
		Reasons: map[string]int64{},
	}
	for reason, n := range t.Reasons {
		if n > before.Reasons[reason] {
			out.Reasons[reason] = n - before.Reasons[reason]
		}
	}
	return out
}
