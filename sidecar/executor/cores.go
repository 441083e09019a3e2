package executor

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Cores shares the machine's cores among the joins that run in this process.
//
// There are at least as many turns as cores. With that many, joins do not
// compete for cores and caches. If more joins than cores have work to do, there
// is one turn for each of them, up to ThreadsPerCore per core: each join stands
// for a waiting backend, and the kernel, which divides processors among
// threads, should give the daemon the share that those backends would have had.
//
// A multi-level feedback queue assigns the turns. A join's level rises with the
// logarithm of the processor time that it has used. The lowest level runs
// first; within a level, joins run in order of arrival. Small joins therefore
// do not wait for large ones, and joins of equal size, which would all finish
// late under round robin, finish one after the other. A join that has waited
// for agedAfter takes precedence over all levels.
type Cores struct {
	cores int
	now   func() time.Duration // monotonic time

	waiting atomic.Int32 // waiting goroutines; lets Yield skip the lock

	mu     sync.Mutex
	inside int
	shares []*Share // in order of arrival
}

const (
	// ThreadsPerCore is the maximum number of join threads per core. It bounds
	// the cost of context switches.
	ThreadsPerCore = 4
	// quantum is the minimum time for which a join keeps its turns. Filling a
	// core's cache takes a small part of it.
	quantum = 10 * time.Millisecond
	// levelTime is the processor time of the lowest level; each further level
	// spans twice the time of all levels below it.
	levelTime = 20 * time.Millisecond
	// agedAfter is how long a join may wait while other joins take precedence.
	agedAfter = 250 * time.Millisecond
)

// NewCores returns turns for the given number of cores.
func NewCores(cores int) *Cores {
	start := time.Now()
	return &Cores{cores: cores, now: func() time.Duration { return time.Since(start) }}
}

// Share holds the turns of one join. It implements device.Turns.
type Share struct {
	cores *Cores

	// Guarded by cores.mu.
	inside  int
	queue   []chan struct{} // waiting goroutines
	served  time.Duration   // processor time used until at
	at      time.Duration
	granted time.Duration // time of its last turn's start
	since   time.Duration // time at which it began to wait, or got its last turn since
}

// Join adds a join. The caller must call Close on the returned share.
func (c *Cores) Join() *Share {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	s := &Share{cores: c, at: now, granted: now}
	c.shares = append(c.shares, s)
	return s
}

// Close removes the join. None of its goroutines may hold or await a turn.
func (s *Share) Close() {
	c := s.cores
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shares = slices.DeleteFunc(c.shares, func(o *Share) bool { return o == s })
}

// Load returns the number of joins that have work to do and the number of
// turns.
func (c *Cores) Load() (joins, turns int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active(), c.turns()
}

// active counts the joins that have or want a turn. The caller has locked c.
func (c *Cores) active() (n int) {
	for _, s := range c.shares {
		if s.inside+len(s.queue) > 0 {
			n++
		}
	}
	return n
}

func (c *Cores) turns() int {
	return max(c.cores, min(c.active(), ThreadsPerCore*c.cores))
}

func (s *Share) Enter(ctx context.Context) {
	s.cores.mu.Lock()
	s.wait(ctx)
}

func (s *Share) Leave() {
	c := s.cores
	c.mu.Lock()
	defer c.mu.Unlock()
	s.count(c.now(), -1)
	c.dispatch()
}

func (s *Share) Yield(ctx context.Context) {
	c := s.cores
	if c.waiting.Load() == 0 {
		return
	}
	c.mu.Lock()
	now := c.now()
	if now-s.granted < quantum {
		c.mu.Unlock()
		return
	}
	best := c.best(now)
	if best == nil || best == s || c.inside <= c.turns() && !best.before(s, now) {
		c.mu.Unlock()
		return
	}
	s.count(now, -1)
	s.wait(ctx)
}

// wait waits for a turn. The caller has locked s.cores, and wait unlocks it.
func (s *Share) wait(ctx context.Context) {
	c := s.cores
	turn := make(chan struct{})
	if len(s.queue) == 0 {
		s.since = c.now()
	}
	s.queue = append(s.queue, turn)
	c.waiting.Add(1)
	c.dispatch()
	c.mu.Unlock()
	select {
	case <-turn:
		return
	default:
	}
	select {
	case <-turn:
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		if i := slices.Index(s.queue, turn); i >= 0 {
			s.queue = slices.Delete(s.queue, i, i+1)
			c.waiting.Add(-1)
			s.count(c.now(), +1)
		}
	}
}

// dispatch assigns free turns. The caller holds c's lock.
func (c *Cores) dispatch() {
	for now := c.now(); c.inside < c.turns(); {
		s := c.best(now)
		if s == nil {
			return
		}
		turn := s.queue[0]
		s.queue = s.queue[1:]
		c.waiting.Add(-1)
		s.granted, s.since = now, now
		s.count(now, +1)
		close(turn)
	}
}

// best returns the waiting join with the highest precedence, nil if none waits.
// The caller holds c's lock.
func (c *Cores) best(now time.Duration) (best *Share) {
	for _, s := range c.shares { // the first one wins ties
		if len(s.queue) > 0 && (best == nil || s.before(best, now)) {
			best = s
		}
	}
	return best
}

// before reports whether s, which waits, takes precedence over o, which waits
// or runs.
func (s *Share) before(o *Share, now time.Duration) bool {
	aged := func(s *Share) bool { return len(s.queue) > 0 && now-s.since >= agedAfter }
	if a, b := aged(s), aged(o); a || b {
		return a && (!b || s.since < o.since)
	}
	return s.level(now) < o.level(now)
}

// level is 0 for the joins that have had the least processor time.
func (s *Share) level(now time.Duration) int {
	return bits.Len64(uint64((s.served + time.Duration(s.inside)*(now-s.at)) / levelTime))
}

// count adds turns to those that s has. The caller has locked s.cores.
func (s *Share) count(now time.Duration, turns int) {
	s.served += time.Duration(s.inside) * (now - s.at)
	s.at = now
	s.inside += turns
	s.cores.inside += turns
}
