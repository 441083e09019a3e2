package outofcore

import "time"

// expire frees slabs that have been idle for long enough.
func (p *Pool) expire() {
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
	p.work.Go(func() { p.end(old) }) // unlocking is slow and must not delay jobs
}

// Kept returns the bytes of slabs that no job has: idle ones, and those being freed.
func (p *Pool) Kept() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes + p.ending
}

// excess takes idle slabs away, the longest idle first, while there are too
// many; it returns those that the caller has to end. The caller has locked p.
func (p *Pool) excess(tooMany func() bool) (out []*slab) {
	for len(p.kept) > 0 && tooMany() {
		if s := p.remove(0); p.drop(s) {
			out = append(out, s)
		}
	}
	return out
}

// endUnlocked ends the idle slabs that are not locked, after a refusal: none is
// being locked any more. The caller has locked p, which is free meanwhile.
func (p *Pool) endUnlocked() {
	var old []*slab
	for i := len(p.kept) - 1; i >= 0; i-- {
		if s := p.kept[i]; s.unlock == nil && p.drop(p.remove(i)) {
			old = append(old, s)
		}
	}
	p.endMeanwhile(old)
}

// remove takes an idle slab out. The caller has locked p.
func (p *Pool) remove(i int) *slab {
	s := p.kept[i]
	p.kept = append(p.kept[:i:i], p.kept[i+1:]...)
	p.bytes -= s.size()
	return s
}

// drop marks a removed slab for freeing. It reports whether the caller must free it; the
// goroutine that is locking it frees it otherwise. The caller has locked p.
func (p *Pool) drop(s *slab) bool {
	s.dropped = true
	p.ending += s.size()
	return s != p.locking
}

// end ends slabs that were dropped. The caller has not locked p: unlocking takes
// a while.
func (p *Pool) end(list []*slab) {
	for _, s := range list {
		s.destroy()
		p.mu.Lock()
		p.ending -= s.size()
		p.mu.Unlock()
	}
}

// endMeanwhile is end for a caller that has locked p, which is free meanwhile.
func (p *Pool) endMeanwhile(list []*slab) {
	p.mu.Unlock()
	p.end(list)
	p.mu.Lock()
}
