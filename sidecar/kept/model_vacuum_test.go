package kept

import "slices"

// This file simulates what changes pages without changing rows, and what replaces them:
// VACUUM, rewrites, crashes.

// vacuum deals with one page, as VACUUM does under the page's cleanup lock.
func (p *pg) vacuum() {
	if len(p.heap) == 0 {
		return
	}
	at := p.rnd.IntN(len(p.heap))
	if p.pins[at] > 0 {
		return
	}
	horizon := p.horizon()
	page := p.heap[at].now()
	left := slices.DeleteFunc(slices.Clone(page.tuples), func(t tuple) bool {
		dead := t.xmax != 0 && p.xacts[t.xmax].status == committed && t.xmax < horizon
		return dead || p.xacts[t.xmin].status == aborted
	})
	freeze := p.rnd.IntN(6) == 0
	if len(left) < len(page.tuples) || freeze {
		page.lsn, page.tuples = p.log(), left
		p.heap[at].change(page.lsn, page)
	}
	for _, t := range left {
		x := p.xacts[t.xmin]
		if x.status != committed || t.xmin >= horizon || x.commit > p.flushed || t.xmax != 0 && p.xacts[t.xmax].status != aborted {
			return
		}
	}
	if v := p.group(at).now(); !page.visible || v.bits>>at&1 == 0 {
		record := p.log()
		page.visible = true
		if p.checksums {
			page.lsn = record
		}
		p.heap[at].change(record, page)
		p.group(at).change(record, vmPage{record, v.bits | 1<<at})
	}
}

// truncate gives the empty pages at the end back, which needs the table for itself.
func (p *pg) truncate() {
	if p.locks > 0 || len(p.writers) > 0 {
		return
	}
	n := len(p.heap)
	for n > 0 && len(p.heap[n-1].now().tuples) == 0 {
		n--
	}
	if n == len(p.heap) {
		return
	}
	record := p.log()
	p.flushed = record
	p.heap = p.heap[:n]
	groups := int((p.blocks() + GroupBlocks - 1) / GroupBlocks)
	p.vm = p.vm[:min(len(p.vm), groups)]
	for _, s := range p.vm {
		v := s.now()
		v.bits &= 1<<n - 1
		if p.checksums {
			v.lsn = record
		}
		*s = states[vmPage]{}
		s.change(0, v)
	}
}

// rewrite gives the table a new file, which needs the table for itself.
func (p *pg) rewrite() {
	if p.locks > 0 || len(p.writers) > 0 {
		return
	}
	p.flushed = p.log()
	old, vm := p.heap, p.vm
	p.newFile()
	switch p.rnd.IntN(3) {
	case 0: // TRUNCATE, which no snapshot hinders
		p.rows = map[int64]*rowVersion{}
	case 1: // VACUUM FULL
		for _, s := range old {
			if tuples := s.now().tuples; len(tuples) > 0 {
				next := &states[heapPage]{}
				next.change(0, heapPage{lsn: p.log(), tuples: tuples})
				p.heap = append(p.heap, next)
			}
		}
		p.flushed = p.lsn
	case 2:
		p.move(old, vm)
	}
}

// move is ALTER TABLE ... SET TABLESPACE and an INSERT in one transaction under wal_level =
// minimal: the pages are copied with their LSNs, and until the commit nothing is logged, so the
// INSERT stamps nothing. Only the file's number tells its pages from the old ones.
func (p *pg) move(old []*states[heapPage], vm []*states[vmPage]) {
	for _, s := range old {
		next := &states[heapPage]{}
		next.change(0, s.now())
		p.heap = append(p.heap, next)
	}
	for _, s := range vm {
		next := &states[vmPage]{}
		next.change(0, s.now())
		p.vm = append(p.vm, next)
	}
	xid := p.begin()
	for at, s := range p.heap {
		page := s.now()
		if len(page.tuples) == mostTuples || p.rnd.IntN(2) == 0 {
			continue
		}
		page.tuples = append(slices.Clone(page.tuples), p.newRow(xid))
		page.visible = false
		*s = states[heapPage]{}
		s.change(0, page)
		v := p.group(at).now()
		v.bits &^= 1 << at
		*p.group(at) = states[vmPage]{}
		p.group(at).change(0, v)
	}
	p.commit(xid, true)
}

// crash loses what is not on disk: WAL, and with it transactions. The postmaster survives.
func (p *pg) crash() {
	if p.rnd.IntN(2) == 0 { // the system may have written more
		p.flushed += p.rnd.Uint64N(p.lsn - p.flushed + 1)
	}
	p.lsn = p.flushed
	for _, s := range p.heap {
		s.crash(p.flushed, p.rnd, func(h heapPage) uint64 { return h.lsn })
	}
	for _, s := range p.vm {
		s.crash(p.flushed, p.rnd, func(v vmPage) uint64 { return v.lsn })
	}
	for xid := range p.xacts {
		if x := &p.xacts[xid]; x.status == running || x.status == committed && x.commit > p.flushed {
			x.status = aborted
		}
	}
	p.writers, p.snapshots, p.locks = nil, nil, 0
	clear(p.pins)
}

// write is one step of writers, of which there are at most three.
func (p *pg) write() {
	if len(p.writers) == 0 || len(p.writers) < 3 && p.rnd.IntN(4) == 0 {
		p.writers = append(p.writers, p.begin())
	}
	i := p.rnd.IntN(len(p.writers))
	xid := p.writers[i]
	switch p.rnd.IntN(8) {
	case 0, 1:
		p.insert(xid)
	case 2, 3:
		p.remove(xid)
	case 4:
		p.lockRow()
	default:
		if p.rnd.IntN(4) == 0 {
			p.xacts[xid].status = aborted
		} else {
			p.commit(xid, p.rnd.IntN(2) == 0)
		}
		p.writers = slices.Delete(p.writers, i, i+1)
	}
}
