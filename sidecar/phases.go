package sidecar

import (
	"sync"
	"time"
)

// phase is a part of a job whose times are counted.
type jobPhase int

const (
	queuePhase  jobPhase = iota // from the request to the admission
	feedPhase                   // from there until all rows are fed
	joinPhase                   // the join itself, without waits for space for results
	returnPhase                 // from the first rows to the job's end, or until it runs again
	nPhases
)

var phaseNames = [nPhases]string{"queue", "feed", "join", "return"}

// phaseBounds are the upper bounds of the classes of times, in seconds: from what the smallest
// job takes to what a report does.
var phaseBounds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}

// PhaseStatus counts how long one phase has taken since the start of the daemon.
type PhaseStatus struct {
	Phase  string    `json:"phase"`
	Bounds []float64 `json:"bounds_s"`
	Counts []int64   `json:"counts"` // of times up to each bound, those up to lower ones included
	Count  int64     `json:"count"`
	SumS   float64   `json:"sum_s"`
}

// phases are the times of all jobs.
type phases struct {
	mu  sync.Mutex
	all [nPhases]struct {
		classes [18]int64 // one for each of phaseBounds, the last for what exceeds them
		sum     time.Duration
	}
}

// took counts a phase that has ended.
func (p *phases) took(which jobPhase, d time.Duration) {
	class := 0
	for class < len(phaseBounds) && d.Seconds() > phaseBounds[class] {
		class++
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[which].classes[class]++
	p.all[which].sum += d
}

// sums returns the time of each phase.
func (p *phases) sums() (out [nPhases]time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range out {
		out[i] = p.all[i].sum
	}
	return out
}

// now describes the phases.
func (p *phases) now() []PhaseStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]PhaseStatus, nPhases)
	for i := range out {
		s := &out[i]
		s.Phase, s.Bounds, s.SumS = phaseNames[i], phaseBounds, p.all[i].sum.Seconds()
		for class, n := range p.all[i].classes {
			s.Count += n
			if class < len(phaseBounds) {
				s.Counts = append(s.Counts, s.Count)
			}
		}
	}
	return out
}
