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
// There are as many turns as cores, so that joins do not take them, and the
// caches, from each other. Where more joins than that have work to do there is
// a turn for each of them, up to ThreadsPerCore for a core: each join stands
// for a backend that waits meanwhile, and the kernel, which divides processors
// among threads, is to give the daemon what those backends would have had.
//
// Who gets a turn is decided by a multi-level feedback queue. A join's level
// rises with the logarithm of the processor time that it has had; the lowest
// level goes first, and within a level the join that came first. So small joins
// do not wait for large ones, and joins of one size, which would all end late
// if they took turns, end one after the other. A join that has waited for
// agedAfter goes before all of them.
type Cores struct {
	cores int
	now   func() time.Duration // since some time

	waiting atomic.Int32 // goroutines, so that Yield need not lock

	mu     sync.Mutex
	inside int
	shares []*Share // in order of arrival
}

const (
	// ThreadsPerCore is how many threads work on joins for each core, at most.
	// It bounds what switching between threads costs.
	ThreadsPerCore = 4
	// quantum is how long a join keeps its turns, at least: filling a core's
	// cache takes a small part of it.
	quantum = 10 * time.Millisecond
	// levelTime is the processor time of a join at the lowest level; each other
	// one has twice as much as all below it.
	levelTime = 20 * time.Millisecond
	// agedAfter is how long a join may wait for others that go first.
	agedAfter = 250 * time.Millisecond
)

// NewCores returns turns for so many cores.
func NewCores(cores int) *Cores {
	start := time.Now()
	return &Cores{cores: cores, now: func() time.Duration { return time.Since(start) }}
}

// Share is the turns of one join. It implements device.Turns.
type Share struct {
	cores *Cores

	// Guarded by cores.mu.
	inside  int
	queue   []chan struct{} // of goroutines that wait
	served  time.Duration   // processor time until at
	at      time.Duration
	granted time.Duration // when it last got a turn
	since   time.Duration // when it began to wait, or got its last turn since
}

// Join adds a join. Its share is given back by Close.
func (c *Cores) Join() *Share {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	s := &Share{cores: c, at: now, granted: now}
	c.shares = append(c.shares, s)
	return s
}

// Close gives the share back. None of its goroutines has a turn or waits.
func (s *Share) Close() {
	c := s.cores
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shares = slices.DeleteFunc(c.shares, func(o *Share) bool { return o == s })
}

// Load returns how many joins have work to do, and how many turns there are.
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

// Enter implements device.Turns.
func (s *Share) Enter(ctx context.Context) {
	s.cores.mu.Lock()
	s.wait(ctx)
}

// Leave implements device.Turns.
func (s *Share) Leave() {
	c := s.cores
	c.mu.Lock()
	defer c.mu.Unlock()
	s.count(c.now(), -1)
	c.dispatch()
}

// Yield implements device.Turns.
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

// dispatch gives free turns to those who should have them. The caller has
// locked c.
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

// best returns the join that waits and goes before the others; nil: none
// waits. The caller has locked c.
func (c *Cores) best(now time.Duration) (best *Share) {
	for _, s := range c.shares { // of equals the first
		if len(s.queue) > 0 && (best == nil || s.before(best, now)) {
			best = s
		}
	}
	return best
}

// before says whether s, which waits, goes before o, which waits or works.
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
