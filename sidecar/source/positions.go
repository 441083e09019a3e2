package source

import (
	"context"
	"sync"
	"time"
)

// positions is how far the main stream has been applied, and who waits for it. It is safe
// for concurrent use.
type positions struct {
	mu       sync.Mutex
	received LSN
	waiters  map[*waiter]struct{}
	samples  []sample  // of the source's position that received has not reached, the oldest first
	asOf     time.Time // everything committed before this time has been applied; zero: unknown
}

// waiter waits for a position.
type waiter struct {
	at   LSN
	done chan struct{}
}

// sample is a position of the source and when it was seen there.
type sample struct {
	at   LSN
	seen time.Time
}

// mostSamples bounds the samples that wait to be passed: one a second.
const mostSamples = 3600

// advance says that everything committed before a position has been applied.
func (p *positions) advance(at LSN) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at <= p.received {
		return
	}
	p.received = at
	p.pass()
	for w := range p.waiters {
		if w.at <= at {
			close(w.done)
			delete(p.waiters, w)
		}
	}
}

// reset begins anew at a position, after the mirrors were ended. Who waits goes on waiting.
func (p *positions) reset(at LSN) {
	p.mu.Lock()
	p.received, p.samples, p.asOf = 0, nil, time.Time{}
	p.mu.Unlock()
	p.advance(at)
}

// at returns the position.
func (p *positions) at() LSN {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.received
}

// waitFor returns when the position has reached at.
func (p *positions) waitFor(ctx context.Context, at LSN) error {
	p.mu.Lock()
	if p.received >= at {
		p.mu.Unlock()
		return nil
	}
	w := &waiter{at: at, done: make(chan struct{})}
	if p.waiters == nil {
		p.waiters = map[*waiter]struct{}{}
	}
	p.waiters[w] = struct{}{}
	p.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiters, w)
	select {
	case <-w.done:
		return nil
	default:
		return ctx.Err()
	}
}

// saw adds a sample of the source's position.
func (p *positions) saw(at LSN, when time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.samples) < mostSamples {
		p.samples = append(p.samples, sample{at, when})
		p.pass()
	}
}

// pass drops the samples that have been reached. The caller holds mu.
func (p *positions) pass() {
	passed := 0
	for passed < len(p.samples) && p.samples[passed].at <= p.received {
		p.asOf = p.samples[passed].seen
		passed++
	}
	p.samples = p.samples[passed:]
}

// age returns how old what has been applied is at most; false: nothing tells.
func (p *positions) age(now time.Time) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Sub(p.asOf), !p.asOf.IsZero()
}

// lag returns how many bytes the mirrors are behind the newest sample, and since when the
// oldest sample that they have not reached was true.
func (p *positions) lag(now time.Time) (bytes int64, since time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.samples) == 0 {
		return 0, 0
	}
	return int64(p.samples[len(p.samples)-1].at - p.received), now.Sub(p.samples[0].seen)
}
