package sidecar

import (
	"slices"

	"gpujoin/shm"
	"gpujoin/sidecar/memory"
)

// participant is a session that works on a job, from OPEN or ATTACH until its
// connection ends. The fields below job are guarded by job.mu.
type participant struct {
	*session
	job *job

	feeding bool // has asked for extents or for kept blocks, or has sent INPUT_FED
	fed     bool
	done    map[uint32]bool // inputs for which it has sent INPUT_FED
	asked   map[uint32]bool // filters for which it has sent FILTER_GET
	reader  *reader         // nil: NEXT has not come in this generation
	held    map[uint64]*holding
	stats   shm.ParticipantStats
}

// role is the purpose for which a peer maps an extent.
type role int

const (
	roleGranted role = iota
	roleResult
	roleChain
	roleFilter
)

// holding is an extent that a peer maps.
type holding struct {
	extent *memory.Extent
	role   role
	times  int     // unreleased sends; above 1 only for extents of a chain or a filter
	exec   *jobRun // roleResult: the execution whose window counts it
	reader *reader // roleResult: the reader in that execution that holds it
}

// hold adds a holding of an extent that participants share. The caller holds
// job.mu.
func (p *participant) hold(e *memory.Extent, role role) {
	e.Retain()
	if h := p.held[e.ID]; h != nil {
		h.times++
		return
	}
	p.held[e.ID] = &holding{extent: e, role: role, times: 1}
}

// join makes a session the participant with the given number and sends ADMITTED.
func (j *job) join(s *session, number int32) {
	p := &participant{session: s, job: j, held: map[uint64]*holding{}, done: map[uint32]bool{}, asked: map[uint32]bool{}, stats: shm.ParticipantStats{Participant: number}}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed == nil && len(j.participants) >= 2*int(j.open.Participants)+2 {
		s.fail(failf(shm.FailProtocol, "the job has more participants than announced"))
		return // it is no participant: the job neither waits for it nor ends with it
	}
	s.mu.Lock()
	s.member, s.phase = p, phaseJob
	s.mu.Unlock()
	if j.failed != nil {
		s.fail(j.failed)
	}
	j.setParticipants(append(slices.Clone(j.participants), p))
	if ph, _ := s.current(); ph == phaseFailed {
		return
	}
	s.out.send(shm.AppendFrame(nil, shm.MsgAdmitted, 0, &shm.Admitted{
		Job: j.id, Token: j.token, ReservedBytes: uint64(j.account.Limit()), QueueUS: uint64(j.queued.Microseconds()),
	}))
}

// leave removes a participant whose socket has reached end of file; such a peer
// maps no extent any more. The batches that it fed stay, the batches that it was
// sent are freed.
func (j *job) leave(p *participant) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.setParticipants(slices.DeleteFunc(slices.Clone(j.participants), func(o *participant) bool { return o == p }))
	j.past[p.stats.Participant] = sumStats(j.past[p.stats.Participant], p.stats)
	for id, h := range p.held {
		delete(p.held, id)
		if h.exec != nil {
			h.exec.scheduler.back(h.reader)
			h.exec.dropExtent(h.extent)
			continue
		}
		for range h.times {
			h.extent.Release()
		}
	}
	if p.reader != nil {
		j.exec.scheduler.leave(p.reader)
	}
	switch {
	case len(j.participants) == 0:
		j.srv.removeJob(j)
		j.abandon(failf(shm.FailInternal, "all participants have left the job"))
	case !p.fed && (p.feeding || j.exec == nil && len(j.filters) > 0):
		j.abandon(failf(shm.FailInternal, "participant %d left while it fed", p.stats.Participant))
	default:
		j.schedule()
	}
}

// setParticipants replaces the list of participants. The caller holds j.mu.
func (j *job) setParticipants(list []*participant) {
	j.participants = list
	members := make([]*session, len(list))
	for i, p := range list {
		members[i] = p.session
	}
	j.members.Store(&members)
}
