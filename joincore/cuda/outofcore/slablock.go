package outofcore

import "time"

// lockIdle locks idle slabs, one after the other, until all are.
func (p *Pool) lockIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := p.unlocked(); s != nil; s = p.unlocked() {
		p.locking = s
		p.mu.Unlock()
		unlock, err := p.lock(s.mem)
		p.mu.Lock()
		p.locking, s.unlock, p.refused = nil, unlock, err
		if s.dropped {
			p.endMeanwhile([]*slab{s})
		}
		if p.refused != nil {
			p.endUnlocked()
			p.forget()
			break
		}
	}
	p.busy = false
}

// Settle waits until all idle slabs are page-locked, or locking was refused.
func (p *Pool) Settle() {
	for p.locksIdle() {
		time.Sleep(time.Millisecond)
	}
}

func (p *Pool) locksIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy
}

// unlocked returns the slab that has waited the longest for being locked, nil
// where none does. The caller has locked p.
func (p *Pool) unlocked() *slab {
	for _, s := range p.kept {
		if s.unlock == nil {
			return s
		}
	}
	return nil
}

// refusal returns why there are no slabs, nil where there are.
func (p *Pool) refusal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}
