package outofcore

import (
	"sync"
	"time"
)

// Pool is a pool of page-locked host memory that jobs reuse. Locking can take
// longer than staged copies, and slows down concurrent copies. The first user
// of a slab therefore makes staged copies; the slab is locked when it is
// returned, with its pages present, and kept for the next job. A job that takes
// a slab before it is locked makes staged copies, too.
//
// Used plus idle slabs never exceed the peak of the bytes granted since the
// pool was last empty. A new slab replaces idle ones, and slabs are also freed
// after they have been idle for a while. All mapped slabs, including those
// being freed, never exceed a limit. After a refused lock the pool locks no
// more slabs and provides none. It is safe for concurrent use.
type Pool struct {
	// Limit is the most bytes of all slabs. It must not change while one is in use.
	Limit int64

	lock func(mem []byte) (unlock func(), err error)
	idle time.Duration // until an idle slab is given back

	mu      sync.Mutex
	used    int64   // bytes in use by jobs
	most    int64   // peak of used since the pool was last empty
	kept    []*slab // idle slabs, longest idle first
	bytes   int64   // of them
	ending  int64   // bytes being freed: neither used nor kept, but still mapped
	locking *slab   // idle, in use or about to end; nil: none is
	busy    bool    // a goroutine is locking idle slabs
	refused error
	timer   *time.Timer // runs while slabs are idle
	closed  bool
	work    sync.WaitGroup // background goroutines
}

// idleSlab is how long an idle slab is kept.
const idleSlab = 10 * time.Second

// NewPool returns a pool of at most limit bytes. lock page-locks a slab's memory until
// unlock. The caller must call Close.
func NewPool(lock func([]byte) (func(), error), limit int64) *Pool {
	return &Pool{Limit: limit, lock: lock, idle: idleSlab}
}

// take returns a slab of at least a size that slabSize has returned and a job was granted,
// or nil if none is available. The slab may be larger, up to mostFor(size). Its content is
// unspecified.
func (p *Pool) take(size int64) *slab { return p.takeUpTo(size, mostFor(size)) }

// takeUpTo is take with another limit.
func (p *Pool) takeUpTo(size, most int64) *slab {
	p.mu.Lock()
	if p.closed || p.refused != nil || p.used+size > p.Limit {
		p.mu.Unlock()
		return nil
	}
	if s := p.find(size, most); s != nil {
		p.used += s.size()
		p.most = max(p.most, p.used)
		p.mu.Unlock()
		return s
	}
	p.used += size
	p.most = max(p.most, p.used)
	others := p.ending
	old := p.excess(func() bool { return p.used+p.bytes > p.most || p.used+p.bytes+others > p.Limit })
	p.mu.Unlock()
	p.end(old)
	s := p.mapped(size)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s == nil { // the job uses its own memory
		p.used -= size
		p.forget()
		return nil
	}
	return s
}

// mapped returns a new slab; nil: what is about to end leaves no room, or the
// machine has none.
func (p *Pool) mapped(size int64) *slab {
	p.mu.Lock()
	full := p.used+p.bytes+p.ending > p.Limit
	p.mu.Unlock()
	if full {
		return nil
	}
	s, err := newSlab(size)
	if err != nil {
		return nil
	}
	return s
}

// mostFor is the largest slab that serves a job which wants size bytes: half as much again. Jobs
// of different sizes that take turns would otherwise never find a slab that is locked.
func mostFor(size int64) int64 { return size + size/2 }

// find takes an idle slab of size to most bytes: of those that suit best the smallest, and of
// these the last one that came back, for the first is locked first. The caller has locked p.
func (p *Pool) find(size, most int64) *slab {
	best, rank := -1, unsuited
	for i, s := range p.kept {
		r := p.suits(s, size, most)
		if r > rank || r == rank && r > unsuited && s.size() <= p.kept[best].size() {
			best, rank = i, r
		}
	}
	if best < 0 {
		return nil
	}
	return p.remove(best)
}

// unsuited is the rank of slabs that do not suit.
const unsuited = -1

// suits ranks idle slabs for a job that wants size bytes and may have most. Best is a locked one
// of that size, then a larger one that is locked. Worst is the one that is being locked, because
// its user would copy at the same time. The caller holds p's lock.
func (p *Pool) suits(s *slab, size, most int64) int {
	locked, exact := s.unlock != nil, s.size() == size
	switch {
	case s.size() < size || s.size() > most || !exact && !locked:
		return unsuited
	case locked && exact:
		return 3
	case locked:
		return 2
	case s != p.locking:
		return 1
	}
	return 0
}

// give takes a slab back, which nothing reads or writes any more, and sees to it
// that it is locked.
func (p *Pool) give(s *slab) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= s.size()
	s.since = time.Now()
	p.kept = append(p.kept, s)
	p.bytes += s.size()
	if p.refused != nil {
		p.endUnlocked()
	} else if s.unlock == nil && !p.busy {
		p.busy = true
		p.work.Go(p.lockIdle)
	}
	p.forget()
	if len(p.kept) > 0 && p.timer == nil {
		p.timer = time.AfterFunc(p.idle, p.expire)
	}
}

// forget resets the peak when the pool is empty. The caller holds p's lock.
func (p *Pool) forget() {
	if p.used == 0 && len(p.kept) == 0 {
		p.most = 0
	}
}

// Close frees all slabs. No job may be using one.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	old := p.excess(func() bool { return true })
	p.forget()
	p.mu.Unlock()
	p.end(old)
	p.work.Wait()
}
