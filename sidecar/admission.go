package sidecar

import (
	"crypto/rand"
	"crypto/subtle"
	"runtime/debug"
	"slices"
	"time"

	"gpujoin/joincore/planjson"
	"gpujoin/shm"
	"gpujoin/sidecar/memory"
)

// maxParticipants is the maximum number of participants of a job.
const maxParticipants = 1024

func (s *session) handleOpen(body []byte) error {
	open, text, err := shm.DecodePrefix[shm.Open](body)
	switch {
	case err != nil:
		return err
	case int64(open.JSONLength) != int64(len(text)):
		return violation("OPEN announces %d bytes but has %d", open.JSONLength, len(text))
	case open.Flags&^shm.OpenRewind != 0:
		return violation("unknown flags %#x of OPEN", open.Flags)
	case open.Participants < 1 || open.Participants > maxParticipants:
		return violation("OPEN with an invalid number of participants: %d", open.Participants)
	case open.Participant < -1 || open.Participant >= maxParticipants || open.Reserved != 0:
		return violation("OPEN by invalid participant %d", open.Participant)
	case open.RoleShare > shm.WholeShare:
		return violation("OPEN with an invalid share of the memory: %d", open.RoleShare)
	}
	decoded, err := planjson.Decode(text)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.phase = phaseOpening
	s.mu.Unlock()
	s.aside.Go(func() { s.admit(open, decoded) })
	return nil
}

// admit waits for memory and answers OPEN. It ends with the connection.
func (s *session) admit(open shm.Open, decoded *planjson.Job) {
	var j *job
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("admission panicked", "panic", p, "stack", string(debug.Stack()))
			f := failf(shm.FailInternal, "internal error of the daemon")
			s.fail(f)
			if j != nil {
				j.fail(f)
			}
		}
	}()
	j, err := s.reserve(open, decoded)
	if err != nil {
		if s.ctx.Err() == nil {
			s.log.Info("job refused", "error", err)
			f := toFailure(err)
			s.srv.counters.refuse(f)
			s.fail(f)
		}
		return
	}
	s.log.Debug("job admitted", "job", j.id, "queued", j.queued)
	if err := s.joinAsOpener(j, open.Participant); err != nil {
		s.reject(shm.MsgPages, toFailure(err))
		_ = s.conn.Close() // the session ends; an error changes nothing
	}
}

// joinAsOpener makes the session the first participant of its job, and answers the PAGES that
// came early. The peer gets all of it at once.
func (s *session) joinAsOpener(j *job, number int32) error {
	s.order.Lock()
	defer s.order.Unlock()
	s.out.hold()
	defer s.out.release()
	j.join(s, number)
	early := s.early
	s.early = nil
	for _, body := range early {
		if err := s.answerPages(body); err != nil {
			return err
		}
	}
	return nil
}

// pages handles PAGES. Those of a job that is not admitted yet wait.
func (s *session) pages(body []byte) error {
	s.order.Lock()
	defer s.order.Unlock()
	if ph, _ := s.current(); ph != phaseOpening {
		return s.answerPages(body)
	}
	if s.bytes += len(body); s.bytes > shm.MaxEarlyPages {
		return violation("%d bytes of PAGES arrived before ADMITTED", s.bytes)
	}
	s.early = append(s.early, slices.Clone(body))
	return nil
}

// answerPages handles PAGES of a job that has been admitted or refused.
func (s *session) answerPages(body []byte) error {
	if ph, p := s.current(); ph == phaseJob {
		return p.job.pages(p, body)
	}
	return nil
}

// reserve creates a job and reserves the memory that it is expected to need.
func (s *session) reserve(open shm.Open, decoded *planjson.Job) (_ *job, err error) {
	j := newJob(s, decoded, open)
	defer func() {
		if err != nil { // the job has not begun, so it does not end
			j.cancel()
			j.freeMirrors()
		}
	}()
	start := time.Now()
	if _, err := rand.Read(j.token[:]); err != nil {
		return nil, failf(shm.FailInternal, "could not create a token: %v", err)
	}
	var need int64
	if err = j.pinMirrors(); err == nil {
		need, err = j.need()
	}
	if err == nil {
		err = s.ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	timeout := time.Duration(open.QueueTimeoutMS) * time.Millisecond
	claim := memory.Claim{
		Group: s.group(), Present: j.present,
		Quota: memory.Quota{
			Role:  memory.Role{Cluster: s.hello.SystemIdentifier, OID: open.Role},
			Share: float64(open.RoleShare) / shm.WholeShare,
		},
	}
	done := s.srv.await(j)
	j.account, err = s.srv.budget.Reserve(s.ctx, s.srv.store, need, claim, timeout)
	done()
	if err != nil {
		return nil, err
	}
	j.admitted = time.Now()
	j.queued = j.admitted.Sub(start)
	s.srv.phases.took(queuePhase, j.queued)
	s.srv.counters.count(func(t *totals) { t.Admitted++ })
	s.srv.addJob(j)
	return j, nil
}

func (s *session) handleAttach(body []byte) error {
	a, err := shm.Decode[shm.Attach](body)
	if err != nil {
		return err
	}
	j := s.srv.findJob(a.Job)
	var none [shm.TokenSize]byte
	want := &none
	if j != nil {
		want = &j.token
	}
	// The comparison takes as long for a job that does not exist.
	same := subtle.ConstantTimeCompare(a.Token[:], want[:]) == 1
	if j == nil || !same {
		s.fail(failf(shm.FailProtocol, "the job does not exist"))
		return nil
	}
	if a.Participant < -1 || a.Participant >= maxParticipants {
		return violation("ATTACH of invalid participant %d", a.Participant)
	}
	j.join(s, a.Participant)
	return nil
}
