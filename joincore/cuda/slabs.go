package cuda

import (
	"sync"
	"time"
)

// slabs is page-locked host memory that jobs use one after the other. Locking
// can take longer than copying in steps, so it is done behind whoever has a
// slab, who meanwhile copies in steps, and what was locked is kept for the next
// job.
//
// What is there never exceeds the most that jobs were granted at a time since
// nothing was there, nor a limit: a slab that has to be mapped takes the place of
// idle ones, which are given back, too, when nobody wanted them for a while. A
// lock that is refused is not tried again: from then on there are no slabs. It is
// safe for concurrent use.
type slabs struct {
	lock  func(mem []byte) (unlock func(), err error)
	limit int64         // of bytes
	idle  time.Duration // until an idle slab is given back

	mu      sync.Mutex
	used    int64   // bytes that jobs have
	most    int64   // of used, since there were no slabs
	kept    []*slab // idle, the longest so first
	bytes   int64   // of them
	backlog []*slab // to be locked
	busy    bool    // somebody works it off
	refused error
	timer   *time.Timer // runs while slabs are idle
	closed  bool
	work    sync.WaitGroup // behind the caller's back
}

// idleSlab is how long a slab is kept that nobody wants.
const idleSlab = 10 * time.Second

func newSlabs(lock func([]byte) (func(), error), limit int64) *slabs {
	return &slabs{lock: lock, limit: limit, idle: idleSlab}
}

// take returns a slab of a size that slabSize has returned, which a job was
// granted; nil: there is none to be had. Its content is unspecified.
func (p *slabs) take(size int64) *slab {
	p.mu.Lock()
	if p.closed || p.refused != nil || p.used+size > p.limit {
		p.mu.Unlock()
		return nil
	}
	p.used += size
	p.most = max(p.most, p.used)
	if s := p.find(size); s != nil {
		p.mu.Unlock()
		return s
	}
	old := p.excess(func() bool { return p.used+p.bytes > p.most })
	p.mu.Unlock()
	destroy(old)
	s, err := newSlab(size)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil { // the job's own memory does as well
		p.used -= size
		p.forget()
		return nil
	}
	s.locking = true
	p.backlog = append(p.backlog, s)
	if !p.busy {
		p.busy = true
		p.work.Go(p.lockAll)
	}
	return s
}

// find takes an idle slab of the size, rather one that is locked. The caller
// has locked p.
func (p *slabs) find(size int64) *slab {
	best := -1
	for i, s := range p.kept {
		if s.size() == size && (best < 0 || s.unlock != nil || p.kept[best].unlock == nil) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return p.remove(best)
}

// give takes a slab back, which nothing reads or writes any more.
func (p *slabs) give(s *slab) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= s.size()
	s.since = time.Now()
	p.kept = append(p.kept, s)
	p.bytes += s.size()
	if p.refused != nil {
		destroy(p.unlocked())
	}
	p.forget()
	if len(p.kept) > 0 && p.timer == nil {
		p.timer = time.AfterFunc(p.idle, p.expire)
	}
}

// expire gives back what was idle for long enough.
func (p *slabs) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil { // closed
		return
	}
	now := time.Now()
	old := p.excess(func() bool { return now.Sub(p.kept[0].since) >= p.idle })
	p.forget()
	p.timer = nil
	if len(p.kept) > 0 {
		p.timer = time.AfterFunc(p.idle-now.Sub(p.kept[0].since), p.expire)
	}
	p.work.Go(func() { destroy(old) }) // unlocking takes a while, for which no job has to wait
}

// excess takes idle slabs away, the longest idle first, while there are too
// many; it returns those that the caller has to destroy. The caller has locked
// p.
func (p *slabs) excess(tooMany func() bool) (out []*slab) {
	for len(p.kept) > 0 && tooMany() {
		if s := p.remove(0); !p.drop(s) {
			out = append(out, s)
		}
	}
	return out
}

// unlocked takes the idle slabs away that are not locked, as excess does; what
// it returns is soon destroyed.
func (p *slabs) unlocked() (out []*slab) {
	for i := len(p.kept) - 1; i >= 0; i-- {
		if s := p.kept[i]; s.unlock == nil && !p.drop(p.remove(i)) {
			out = append(out, s)
		}
	}
	return out
}

// remove takes an idle slab out. The caller has locked p.
func (p *slabs) remove(i int) *slab {
	s := p.kept[i]
	p.kept = append(p.kept[:i:i], p.kept[i+1:]...)
	p.bytes -= s.size()
	return s
}

// drop leaves a slab to who is locking it; false: nobody is.
func (p *slabs) drop(s *slab) bool {
	s.dropped = true
	return s.locking
}

// forget notes that there are no slabs any more. The caller has locked p.
func (p *slabs) forget() {
	if p.used == 0 && len(p.kept) == 0 {
		p.most = 0
	}
}

// lockAll works the backlog off.
func (p *slabs) lockAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.backlog) > 0 {
		s := p.backlog[0]
		p.backlog = p.backlog[1:]
		if !s.dropped && p.refused == nil {
			p.mu.Unlock()
			unlock, err := p.lock(s.mem)
			p.mu.Lock()
			if s.unlock = unlock; err != nil {
				p.refused = err
			}
		}
		s.locking = false
		if s.dropped {
			p.mu.Unlock()
			s.destroy()
			p.mu.Lock()
		}
	}
	p.busy = false
	if p.refused != nil {
		destroy(p.unlocked())
		p.forget()
	}
}

// refusal returns why there are no slabs, nil where there are.
func (p *slabs) refusal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// close gives everything back. No job has a slab any more.
func (p *slabs) close() {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	old := p.excess(func() bool { return true })
	p.forget()
	p.mu.Unlock()
	destroy(old)
	p.work.Wait()
}

func destroy(list []*slab) {
	for _, s := range list {
		s.destroy()
	}
}
