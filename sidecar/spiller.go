package sidecar

import (
	"slices"
	"time"

	"gpujoin/sidecar/memory"
)

// spillPace is the pause between two jobs whose results begin to move to disk.
// Moving the first may be enough.
const spillPace = 20 * time.Millisecond

// startSpilling starts spillUnread if results may be on disk.
func (srv *Server) startSpilling() {
	if !srv.spool.Enabled() {
		return
	}
	if err := srv.spool.Check(); err != nil {
		srv.log.Warn("unread results cannot move to disk", "error", err)
	}
	srv.background.Add(1)
	go srv.spillUnread()
}

// spillUnread has results that stay unread moved to disk while jobs wait for
// memory, the longest unread first. It runs until the server ends.
func (srv *Server) spillUnread() {
	defer srv.background.Done()
	for {
		select {
		case <-srv.ctx.Done():
			return
		case <-srv.budget.Waiting():
		}
		for srv.budget.Usage().Queued > 0 {
			srv.spillOne(srv.budget.Shortage())
			select {
			case <-srv.ctx.Done():
				return
			case <-time.After(spillPace):
			}
		}
	}
}

// spillOne begins to move the longest unread result, unless another one is being
// written: the disk would not be faster, and that one may be enough.
func (srv *Server) spillOne(shortage memory.Shortage) {
	before := time.Now().Add(-srv.options.SpoolAfter)
	if slices.ContainsFunc(srv.listJobs(), (*job).writes) {
		return
	}
	if j := srv.longestUnread(shortage, before); j != nil {
		j.startSpill(before)
	}
}

// longestUnread returns the job whose result was unread for the longest time, of
// those that were not read since before the given time, may move to disk, and
// have memory that is lacking. It returns nil if there is none.
func (srv *Server) longestUnread(shortage memory.Shortage, before time.Time) (first *job) {
	var since time.Time
	for _, j := range srv.listJobs() {
		if !shortage.Concerns(j.account) {
			continue
		}
		if at, ok := j.maySpill(before); ok && (first == nil || at.Before(since)) {
			first, since = j, at
		}
	}
	return first
}

// writes reports whether a result of the job is being written to disk.
func (j *job) writes() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.exec != nil && j.exec.spill.writing
}

// maySpill is execution.maySpill of the job's current execution.
func (j *job) maySpill(before time.Time) (since time.Time, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.exec == nil || j.failed != nil {
		return since, false
	}
	return j.exec.maySpill(before)
}

// startSpill moves the job's results to disk, unless they were read meanwhile,
// until a participant reads again.
func (j *job) startSpill(before time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.exec == nil || j.failed != nil {
		return
	}
	if since, ok := j.exec.maySpill(before); ok {
		j.srv.log.Info("moving unread results to disk", "job", j.id, "unread", time.Since(since).Round(time.Millisecond))
		j.exec.spill.active = true
		j.exec.kick()
	}
}
