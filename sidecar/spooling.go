package sidecar

import (
	"slices"
	"sync"
	"time"

	"gpujoin/shm"
	"gpujoin/sidecar/memory"
	"gpujoin/sidecar/spool"
)

// An unread result keeps its window of batches, and a join that waits
// for the window keeps its inputs and its own memory. While jobs wait for memory,
// the batches of such a result move to a file, so that the join runs to its end.
// Three rules keep the way back open although no memory may be free then:
//
//   - One batch stays in memory for each participant that holds none and may come
//     (scheduler.owed). Batches that were sent cannot move.
//   - While batches are on disk, an extent that a participant gives back is a
//     spare one: the next batch is read back into it. So the number of extents
//     does not fall, and reading back needs no memory.
//   - The scheduler's window then is what is in memory: extents that are held, ready
//     or spare. So it does not give a participant a second batch that another one
//     needs as its first.
//
// It follows that ready and spare batches are at least as many as are owed: moving
// a batch, dealing one and taking one back preserve that.

// spooling is the part of an execution's result that is on disk. Its fields are
// guarded by job.mu.
type spooling struct {
	active  bool      // ready batches move to disk, as many as may
	touched time.Time // when a participant last asked for batches or gave one back
	retry   time.Time // no attempt before that, because the last one failed

	file    *spool.File
	stored  []storedBatch
	spare   []*memory.Extent // each has a slot of the window
	moving  bool             // the mover runs; only it uses the file
	writing bool             // the mover has a batch that is not in stored
	loading int              // 1: the mover has a spare extent, for the first of stored
	stale   bool             // the mover has to close the file: the results were dropped
	movers  sync.WaitGroup
}

// storedBatch is a batch on disk.
type storedBatch struct {
	piece spool.Piece
	parts []shm.Part // of the extent
	rows  int
}

// onDisk reports whether batches are on disk or on their way to it.
func (s *spooling) onDisk() bool { return len(s.stored) > 0 || s.writing }

// bytes returns the size of the batches on disk.
func (s *spooling) bytes() (n int64) {
	for _, b := range s.stored {
		n += b.piece.Bytes()
	}
	return n
}

// touch records that a participant reads.
func (e *jobRun) touch() {
	e.spooling.touched = time.Now()
	e.spooling.active = false
}

// surplus returns the number of batches in memory that no participant is owed.
func (e *jobRun) surplus() int { return e.inMemory() - e.scheduler.owed() }

// inMemory returns the number of extents that no participant holds and that are
// or will be batches to send.
func (e *jobRun) inMemory() int { return len(e.ready) + len(e.spooling.spare) + e.spooling.loading }

// unread returns since when no participant has asked for results or given some
// back, if there are any that none has given back. The caller holds job.mu.
func (e *jobRun) unread() (since time.Time, ok bool) {
	ok = e.announced && (e.scheduler.held()+e.inMemory() > 0 || e.spooling.onDisk())
	return e.spooling.touched, ok
}

// maySpool returns since when the result is unread, if it is so since before
// the given time and some of it may move to disk. The caller holds job.mu.
func (e *jobRun) maySpool(before time.Time) (since time.Time, ok bool) {
	s := &e.spooling
	ok = e.announced && !s.active && e.spoolable && e.surplus() > 0 && !s.touched.After(before) && !s.retry.After(time.Now())
	return s.touched, ok
}

// takeBack takes the extent of a batch that a participant gives back.
func (e *jobRun) takeBack(extent *memory.Extent) {
	if e.job.exec == e && e.job.failed == nil && e.spooling.onDisk() {
		e.spooling.spare = append(e.spooling.spare, extent)
		e.kick()
		return
	}
	extent.Release()
	e.batchBack()
}

// kick starts the mover if it does not run and has something to do. The caller
// holds job.mu.
func (e *jobRun) kick() {
	s := &e.spooling
	if s.moving || e.nextMove() == nil {
		return
	}
	s.moving = true
	s.movers.Add(1)
	e.job.srv.background.Go(e.move)
}

// move is the mover, a goroutine. It ends when it has nothing to do.
func (e *jobRun) move() {
	defer e.spooling.movers.Done()
	e.job.mu.Lock()
	defer e.job.mu.Unlock()
	for act := e.nextMove(); act != nil; act = e.nextMove() {
		act()
		if e.spooling.stale {
			e.spooling.stale = false
			e.closeFile()
		}
	}
	e.spooling.moving = false
}

// nextMove returns what the mover does next, nil if nothing. The caller holds
// job.mu.
func (e *jobRun) nextMove() func() {
	s := &e.spooling
	switch {
	case s.stale:
		return func() {} // the file is to be closed
	case e.job.failed != nil || e.job.exec != e:
		return nil
	case len(s.spare) > 0 && (!s.onDisk() || s.active && e.surplus() > 0):
		return func() { e.dropExtent(e.takeSpare()) }
	case len(s.spare) > 0 && (!s.active || len(e.ready) < e.scheduler.owed()):
		return e.load
	case s.active && e.surplus() > 0:
		return e.store
	}
	return nil
}

func (e *jobRun) takeSpare() *memory.Extent {
	last := len(e.spooling.spare) - 1
	extent := e.spooling.spare[last]
	e.spooling.spare = e.spooling.spare[:last]
	return extent
}

// dropExtent frees an extent of the window.
func (e *jobRun) dropExtent(extent *memory.Extent) {
	extent.Release()
	e.batchBack()
}

// store moves the last ready batch to disk. If that fails, it stays in memory.
func (e *jobRun) store() {
	s, last := &e.spooling, len(e.ready)-1
	b := e.ready[last]
	e.ready = e.ready[:last]
	s.writing = true
	stored := storedBatch{rows: b.rows}
	var err error
	current := e.unlocked(func() { err = s.write(&stored, b.extent.Data, e.job.srv.spool) })
	s.writing = false
	switch {
	case !current:
		e.dropExtent(b.extent)
	case err != nil:
		e.ready = append(e.ready, b)
		s.active, s.retry = false, time.Now().Add(e.job.srv.settings().SpoolAfter)
		e.job.srv.log.Warn("unread results stay in memory", "job", e.job.id, "error", err)
		e.job.schedule()
	default:
		s.stored = append(s.stored, stored)
		e.dropExtent(b.extent)
	}
}

// write appends a batch to the file, which it creates if there is none.
func (s *spooling) write(b *storedBatch, extent []byte, to *spool.Spool) (err error) {
	if s.file == nil {
		if s.file, err = to.Open(); err != nil {
			return err
		}
	}
	view, err := shm.ReadBatch(extent, nil)
	if err == nil {
		b.parts = view.Parts
		b.piece, err = s.file.Write(partsOf(extent, b.parts))
	}
	return err
}

// partsOf returns parts of an extent.
func partsOf(extent []byte, parts []shm.Part) [][]byte {
	out := make([][]byte, len(parts))
	for i, p := range parts {
		out[i] = extent[p.From:p.To]
	}
	return out
}

// load reads the first batch on disk into a spare extent. If that fails, so does
// the job.
func (e *jobRun) load() {
	s, extent := &e.spooling, e.takeSpare()
	b := s.stored[0]
	s.loading = 1
	var err error
	current := e.unlocked(func() { err = s.file.Read(b.piece, partsOf(extent.Data, b.parts)) })
	s.loading = 0
	switch {
	case !current:
		e.dropExtent(extent)
	case err != nil:
		e.dropExtent(extent)
		e.job.srv.log.Error("results are lost", "job", e.job.id, "error", err)
		e.job.failLocked(failf(shm.FailInternal, "results that were moved to disk are lost: %v", err))
	default:
		s.stored = s.stored[1:]
		e.ready = append(e.ready, resultBatch{extent, b.rows})
		e.job.schedule()
	}
}

// unlocked calls act without job.mu, which the caller holds, and reports whether
// the results were not dropped meanwhile.
func (e *jobRun) unlocked(act func()) (current bool) {
	e.job.mu.Unlock()
	act()
	e.job.mu.Lock()
	return !e.spooling.stale
}

// dropSpooled frees the results on disk. The caller holds job.mu.
func (e *jobRun) dropSpooled() {
	s := &e.spooling
	for len(s.spare) > 0 {
		e.dropExtent(e.takeSpare())
	}
	s.stored, s.active = nil, false
	if s.moving {
		s.stale = true
	} else {
		e.closeFile()
	}
}

// closeFile closes the file without waiting: a file system may take long to free
// its space. The caller holds job.mu, and the mover does not use the file.
func (e *jobRun) closeFile() {
	file := e.spooling.file
	if file == nil {
		return
	}
	e.spooling.file = nil
	e.job.srv.background.Go(file.Close)
}

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
	srv.background.Go(srv.spoolUnread)
}

// spoolUnread has results that stay unread moved to disk while jobs wait for
// memory, the longest unread first. It runs until the server ends.
func (srv *Server) spoolUnread() {
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
func (srv *Server) spoolOne(helps func(*memory.Account) bool) {
	before := time.Now().Add(-srv.settings().SpoolAfter)
	if slices.ContainsFunc(srv.listJobs(), (*job).writes) {
		return
	}
	if j := srv.longestUnread(helps, before); j != nil {
		j.startSpool(before)
	}
}

// longestUnread returns the job whose result was unread for the longest time, of
// those that were not read since before the given time, may move to disk, and
// have memory that is lacking. It returns nil if there is none.
func (srv *Server) longestUnread(helps func(*memory.Account) bool, before time.Time) (first *job) {
	var since time.Time
	for _, j := range srv.listJobs() {
		if !helps(j.account) {
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
