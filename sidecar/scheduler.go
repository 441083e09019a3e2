package sidecar

import (
	"math"
	"slices"

	"gpujoin/shm"
)

// scheduler decides which participant of a job gets the next result batch.
//
// A participant that holds a batch may be unable to finish it until another
// one makes progress: a parallel worker whose tuple queue is full waits for
// the leader to read it, and the leader does not read while it waits for a
// batch of its own. So no participant may have to wait until another one gives
// a batch back. The scheduler keeps one batch of the window for each participant
// that holds none, including participants that have not sent NEXT yet:
//
//	held + participants without a batch + participants to come <= window
//
// Sending a participant its first batch and taking back its last one leave the
// left side unchanged; a further batch is sent only if the left side is less
// than the window. If there are fewer batches than participants, the last ones
// to ask get END at once, and the others return all rows.
//
// A scheduler neither locks nor waits; the caller serialises the calls.
//
// While batches are on disk, none is made for a participant that asks: the window
// then is the number of batches in memory, if that is smaller.
type scheduler struct {
	most    int // maximum number of batches that one participant may hold
	room    int // batches that may exist at a time
	window  int // those that may be sent
	coming  int // participants that have not asked and have a batch reserved
	readers []*reader
}

// reader is the scheduler's state of one participant, from its first NEXT on.
type reader struct {
	credits uint64 // batches that it has asked for and not been sent
	held    int    // batches that it was sent and has not released
	state   readerState
}

type readerState int

const (
	readerAsking   readerState = iota // not decided yet whether it gets rows
	readerAdmitted                    // a batch is reserved for it while it holds none
	readerEnded                       // it gets no more batches
)

// open sets the window, the number of batches that may exist at a time, which
// must be at least 1, and the number of expected participants. It must precede
// admit and next.
func (d *scheduler) open(window, participants int) {
	d.room, d.window = window, window
	d.coming = min(participants, window)
	d.most = max(1, window/max(1, participants))
}

// limit sets the window: the room or, if batches are on disk, the number of batches
// in memory, free of which no participant holds.
func (d *scheduler) limit(free int, disk bool) {
	d.window = d.room
	if disk {
		d.window = min(d.room, d.held()+free)
	}
}

// held returns the number of batches that participants hold.
func (d *scheduler) held() (n int) {
	for _, r := range d.readers {
		n += r.held
	}
	return n
}

// owed returns the number of batches that are reserved for participants that hold
// none.
func (d *scheduler) owed() int {
	n := d.coming
	for _, r := range d.readers {
		if r.state == readerAdmitted && r.held == 0 {
			n++
		}
	}
	return n
}

// join adds a participant that has sent its first NEXT.
func (d *scheduler) join() *reader {
	r := &reader{}
	d.readers = append(d.readers, r)
	return r
}

// admit decides, in order of their first NEXT, which new participants get rows.
// It ends the others and returns them.
func (d *scheduler) admit() (ended []*reader) {
	for _, r := range d.readers {
		if r.state != readerAsking {
			continue
		}
		switch {
		case d.coming > 0:
			d.coming--
			r.state = readerAdmitted
		case d.spare() > 0:
			r.state = readerAdmitted
		default:
			r.state = readerEnded
			ended = append(ended, r)
		}
	}
	return ended
}

// spare returns the number of batches that are neither held nor reserved.
func (d *scheduler) spare() int {
	return d.window - d.held() - d.owed()
}

// next chooses the participant that gets the next batch, one of those that hold
// the fewest. It takes one of its credits and counts the batch as held. It
// returns nil if no participant may get a batch before one asks for more or
// releases one.
func (d *scheduler) next() *reader {
	var best *reader
	for _, r := range d.readers {
		if r.state == readerAdmitted && r.credits > 0 && r.held < d.most && (best == nil || r.held < best.held) {
			best = r
		}
	}
	if best == nil || best.held > 0 && d.spare() < 1 {
		return nil
	}
	best.credits--
	best.held++
	return best
}

// back records that a participant has released one batch.
func (d *scheduler) back(r *reader) { r.held-- }

// end ends all participants, because no batch is left, and returns those that
// had not ended before.
func (d *scheduler) end() (ended []*reader) {
	for _, r := range d.readers {
		if r.state != readerEnded {
			r.state = readerEnded
			ended = append(ended, r)
		}
	}
	return ended
}

// leave removes a participant that has disconnected. The caller has called back
// for each batch that it held.
func (d *scheduler) leave(r *reader) {
	d.readers = slices.DeleteFunc(d.readers, func(o *reader) bool { return o == r })
}

// Result batches are sent to participants with credits as they become ready,
// so that fast participants take more of the result than slow ones.

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
		p.reader = j.exec.scheduler.join()
	}
	j.exec.touch()
	p.reader.credits = min(p.reader.credits+uint64(v.Count), math.MaxUint32)
	j.schedule()
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
	h.exec.scheduler.back(h.reader)
	h.exec.touch()
	h.exec.takeBack(h.extent)
	j.schedule()
	return nil
}

// schedule sends ready batches to participants, and END after the last one of all. The
// caller holds j.mu.
func (j *job) schedule() {
	e := j.exec
	if e == nil || j.failed != nil || !e.announced {
		return
	}
	e.scheduler.limit(e.inMemory(), e.spooling.onDisk())
	j.sendEnd(e.scheduler.admit())
	for len(e.ready) > 0 {
		r := e.scheduler.next()
		if r == nil {
			return
		}
		b := e.ready[0]
		e.ready[0] = resultBatch{}
		e.ready = e.ready[1:]
		e.sent = true
		p := j.participantOf(r)
		p.held[b.extent.ID] = &holding{extent: b.extent, role: roleResult, times: 1, exec: e, reader: r}
		var buf [64]byte
		p.out.send(shm.AppendFrame(buf[:0], shm.MsgResult, 1, &shm.Result{Extent: b.extent.ID, Rows: uint32(b.rows)}), b.extent)
	}
	if e.delivered() {
		j.sendEnd(e.scheduler.end())
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
