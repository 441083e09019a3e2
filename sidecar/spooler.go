package sidecar

import (
	"slices"
	"time"

	"gpujoin/sidecar/memory"
)

// spoolPace is the pause between two jobs whose results begin to move to disk.
// Moving the first may be enough.
const spoolPace = 20 * time.Millisecond

// startSpooling starts spoolUnread if results may be on disk.
func (srv *Server) startSpooling() {
	if !srv.spool.Enabled() {
		return
	}
	if err := srv.spool.Check(); err != nil {
		srv.log.Warn("unread results cannot move to disk", "error", err)
	}
	if srv.spool.InMemory() {
		srv.log.Warn("the spool directory is in memory: results in it use memory outside of the budget", "directory", srv.options.SpoolDir)
	}
	srv.background.Add(1)
	go srv.spoolUnread()
}

// spoolUnread has results that stay unread moved to disk while jobs wait for
// memory, the longest unread first. It runs until the server ends.
func (srv *Server) spoolUnread() {
	defer srv.background.Done()
	for {
		select {
		case <-srv.ctx.Done():
			return
		case <-srv.budget.Waiting():
		}
		for srv.budget.Usage().Queued > 0 {
			srv.spoolOne(srv.budget.Shortage())
			select {
			case <-srv.ctx.Done():
				return
			case <-time.After(spoolPace):
			}
		}
	}
}

// spoolOne begins to move the longest unread result, unless another one is being
// written: the disk would not be faster, and that one may be enough.
func (srv *Server) spoolOne(shortage memory.Shortage) {
	before := time.Now().Add(-srv.options.SpoolAfter)
	if slices.ContainsFunc(srv.listJobs(), (*job).writes) {
		return
	}
	if j := srv.longestUnread(shortage, before); j != nil {
		j.startSpool(before)
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
		if at, ok := j.maySpool(before); ok && (first == nil || at.Before(since)) {
			first, since = j, at
		}
	}
	return first
}

// writes reports whether a result of the job is being written to disk.
func (j *job) writes() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.exec != nil && j.exec.spooling.writing
}

// maySpool is execution.maySpool of the job's current execution.
func (j *job) maySpool(before time.Time) (since time.Time, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.exec == nil || j.failed != nil {
		return since, false
	}
	return j.exec.maySpool(before)
}

// startSpool moves the job's results to disk, unless they were read meanwhile,
// until a participant reads again.
func (j *job) startSpool(before time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.exec == nil || j.failed != nil {
		return
	}
	if since, ok := j.exec.maySpool(before); ok {
		j.srv.log.Info("moving unread results to disk", "job", j.id, "unread", time.Since(since).Round(time.Millisecond))
		j.exec.spooling.active = true
		j.exec.kick()
	}
}
