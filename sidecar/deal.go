package sidecar

import (
	"math"

	"gpujoin/shm"
)

// Dealing: whoever has credits gets the next batch, so that fast participants
// take more of the result than slow ones.

// next adds credits.
func (j *job) next(s *session, v *shm.Next) error {
	if v.Reserved != 0 {
		return violation("reserved bytes of NEXT")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil
	}
	if j.exec == nil {
		return violation("NEXT before RUN")
	}
	s.credits = min(s.credits+uint64(v.Count), math.MaxUint32)
	s.asked = true
	j.deal()
	return nil
}

// release takes an extent back that the participant has unmapped.
func (j *job) release(s *session, v *shm.Release) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := s.held[v.Extent]
	if h == nil {
		return violation("RELEASE of extent %d, which is not held", v.Extent)
	}
	if h.times--; h.times == 0 {
		delete(s.held, v.Extent)
	}
	h.extent.Release()
	if h.role == roleResult {
		s.results--
		h.exec.batchBack()
		j.deal()
	}
	return nil
}

// deal hands out what is ready. The caller has locked j.
func (j *job) deal() {
	e := j.exec
	if e == nil || j.failed != nil || !e.announced {
		return
	}
	for len(e.ready) > 0 {
		s := j.hungriest()
		if s == nil {
			return
		}
		b := e.ready[0]
		e.ready[0] = resultBatch{}
		e.ready = e.ready[1:]
		e.dealt = true
		s.credits--
		s.results++
		s.held[b.extent.ID] = &holding{extent: b.extent, role: roleResult, times: 1, exec: e}
		var buf [64]byte
		s.out.send(shm.AppendFrame(buf[:0], shm.MsgResult, 1, &shm.Result{Extent: b.extent.ID, Rows: uint32(b.rows)}), b.extent)
	}
	if !e.produced {
		return
	}
	for _, s := range j.sessions {
		if s.asked && !s.ended {
			s.ended = true
			var buf [shm.FrameSize]byte
			s.out.send(shm.AppendEmpty(buf[:0], shm.MsgEnd))
		}
	}
}

// hungriest returns the participant with credits that maps the fewest
// batches. One that hoards is not dealt more than its share of the window, so
// that the others always get on.
func (j *job) hungriest() *session {
	share := max(2, (cap(j.exec.slots)-2)/int(j.open.Participants))
	var best *session
	for _, s := range j.sessions {
		if s.credits > 0 && s.results < share && (best == nil || s.results < best.results) {
			best = s
		}
	}
	return best
}

// returned notes what returning rows cost a participant.
func (j *job) returned(s *session, v *shm.Returned) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	s.stats.ReturnedRows += v.Rows
	s.stats.ReturnUS += v.ReturnUS
	return nil
}
