package sidecar

import (
	"math"

	"gpujoin/shm"
)

// Result batches are dealt to participants with credits as they become ready,
// so that fast participants take more of the result than slow ones. dealer.go
// contains the rules.

// next adds credits to a participant (NEXT).
func (j *job) next(p *participant, v *shm.Next) error {
	if v.Reserved != 0 {
		return violation("reserved bytes of NEXT are not zero")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil
	}
	if j.exec == nil {
		return violation("NEXT before RUN")
	}
	if p.reader == nil {
		p.reader = j.exec.dealer.join()
	}
	j.exec.touch()
	p.reader.credits = min(p.reader.credits+uint64(v.Count), math.MaxUint32)
	j.deal()
	return nil
}

// release takes back an extent that the participant has unmapped (RELEASE).
func (j *job) release(p *participant, v *shm.Release) error {
	j.mu.Lock()
	h := p.held[v.Extent] // only this participant's goroutine removes it
	j.mu.Unlock()
	if h == nil {
		return violation("RELEASE of extent %d, which the participant does not hold", v.Extent)
	}
	if h.role == roleResult { // its memory is reused for the next batch
		p.out.sent(h.extent)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if h.times--; h.times == 0 {
		delete(p.held, v.Extent)
	}
	if h.role != roleResult {
		h.extent.Release()
		return nil
	}
	h.exec.dealer.back(h.reader)
	h.exec.touch()
	h.exec.takeBack(h.extent)
	j.deal()
	return nil
}

// deal sends ready batches to participants, and END after the last one of all. The
// caller holds j.mu.
func (j *job) deal() {
	e := j.exec
	if e == nil || j.failed != nil || !e.announced {
		return
	}
	e.dealer.limit(e.inMemory(), e.spooling.onDisk())
	j.sendEnd(e.dealer.admit())
	for len(e.ready) > 0 {
		r := e.dealer.next()
		if r == nil {
			return
		}
		b := e.ready[0]
		e.ready[0] = resultBatch{}
		e.ready = e.ready[1:]
		e.dealt = true
		p := j.participantOf(r)
		p.held[b.extent.ID] = &holding{extent: b.extent, role: roleResult, times: 1, exec: e, reader: r}
		var buf [64]byte
		p.out.send(shm.AppendFrame(buf[:0], shm.MsgResult, 1, &shm.Result{Extent: b.extent.ID, Rows: uint32(b.rows)}), b.extent)
	}
	if e.delivered() {
		j.sendEnd(e.dealer.end())
	}
}

// sendEnd sends END to participants. The caller holds j.mu.
func (j *job) sendEnd(readers []*reader) {
	for _, r := range readers {
		var buf [shm.FrameSize]byte
		j.participantOf(r).out.send(shm.AppendEmpty(buf[:0], shm.MsgEnd))
	}
}

// participantOf returns the participant of a reader of the current execution.
// leave removes the reader of a participant, so there is one. The caller holds
// j.mu.
func (j *job) participantOf(r *reader) *participant {
	for _, p := range j.participants {
		if p.reader == r {
			return p
		}
	}
	panic("sidecar: a batch for a participant that has left")
}

// returned records a participant's statistics of returning rows (RETURNED).
func (j *job) returned(p *participant, v *shm.Returned) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	p.stats.ReturnedRows += v.Rows
	p.stats.ReturnUS += v.ReturnUS
	return nil
}
