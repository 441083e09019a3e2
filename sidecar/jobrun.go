package sidecar

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/shm"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/memory"
)

// jobRun is one run of a job's join, which is one generation.
type jobRun struct {
	job        *job
	generation uint32
	starter    *participant // waits for RUNNING
	ctx        context.Context
	cancel     context.CancelFunc
	done       chan struct{} // closed when no goroutine works on the job
	slots      chan struct{} // one per result batch of the window
	full       chan struct{} // closed when held batches fill the window
	inputs     []*joincore.Relation

	// The following fields are guarded by job.mu.
	scheduler scheduler
	room      int  // result batches that may exist at a time
	spoolable bool // unread results may move to disk
	ready     []resultBatch
	spooling  spooling
	announced bool      // RUNNING was sent
	returning time.Time // since when
	held      bool      // rows are sent only once all are there: the plan may fail until then
	produced  bool      // all results are in ready or were sent
	sent      bool      // a participant has received rows, so the run cannot restart
	rowsOut   int64
	bytesOut  int64
	provider  string         // provider that executes the join
	fallback  string         // why no preferred executor runs it
	stats     joincore.Stats // once produced
}

// resultBatch is a batch in memory that was not sent yet.
type resultBatch struct {
	extent *memory.Extent
	rows   int
}

// run starts the join, or restarts it on a rewind. It sends RUNNING only after
// the first batch or the end, so that the backend can still run the native plan
// if the join fails before that.
func (j *job) run(starter *participant, v *shm.Run) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil
	}
	last := uint32(0)
	if j.exec != nil {
		last = j.exec.generation
	}
	if v.Generation != last+1 {
		return violation("RUN of generation %d after %d", v.Generation, last)
	}
	if last > 0 && j.open.Flags&shm.OpenRewind == 0 {
		return violation("RUN again without the rewind flag")
	}
	if last > 0 && !j.exec.announced { // each waiting RUN has an execution of its own
		return violation("RUN of generation %d before RUNNING of the previous one", v.Generation)
	}
	for _, p := range j.participants {
		if p.feeding && !p.fed {
			return violation("RUN before participant %d has FED", p.stats.Participant)
		}
	}
	previous := j.exec
	if previous != nil {
		j.srv.phases.took(returnPhase, time.Since(previous.returning))
		previous.cancel()
		previous.dropReady()
	} else if err := j.serveKept(); err != nil {
		j.failLocked(toFailure(err))
		return nil
	}
	if previous == nil {
		j.srv.phases.took(feedPhase, time.Since(j.admitted))
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &jobRun{
		job: j, generation: v.Generation, starter: starter, ctx: ctx, cancel: cancel,
		done: make(chan struct{}), slots: make(chan struct{}, j.window()),
		held: joincore.CanFailLate(j.plan.Root), full: make(chan struct{}),
	}
	for i := range j.fed {
		e.inputs = append(e.inputs, &j.fed[i].relation)
	}
	j.exec = e
	if j.mirrors != nil {
		j.readMirrors()
	}
	j.freeFilters()
	for _, p := range j.participants {
		p.reader = nil
	}
	j.srv.background.Go(func() { e.work(previous) })
	return nil
}

// work executes the join. It logs last, so that a stalled log delays neither
// the participants nor the tear-down.
func (e *jobRun) work(previous *jobRun) {
	var stats joincore.Stats
	current, err := e.complete(previous, &stats)
	switch {
	case !current:
	case errors.Is(err, joincore.ErrArithmetic): // the query's own error
		e.job.srv.log.Info("join failed", "job", e.job.id, "error", err)
	case err != nil:
		e.job.srv.log.Warn("join failed", "job", e.job.id, "error", err)
	default:
		e.logWork(&stats)
	}
}

// complete executes the join after the previous generation has ended, and
// reports whether the job still runs this generation.
func (e *jobRun) complete(previous *jobRun, stats *joincore.Stats) (current bool, err error) {
	defer close(e.done)
	defer e.cancel()
	if previous != nil {
		<-previous.done
		previous.spooling.movers.Wait()
	}
	err = e.execute(stats)
	return e.finish(stats, err), err
}

// execute runs the join. It turns panics into errors.
func (e *jobRun) execute(stats *joincore.Stats) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e.job.srv.log.Error("join panicked", "job", e.job.id, "panic", p, "stack", string(debug.Stack()))
			err = failf(shm.FailInternal, "internal error of the daemon")
		}
	}()
	device.PanicOnFault()
	if err := e.job.mirrors.wait(e.ctx); err != nil {
		return err
	}
	want := cap(e.slots)
	room := e.job.account.KeepForResults(want)
	if room == 0 {
		return fmt.Errorf("%w: no memory for result batches", joincore.ErrBudget)
	}
	for range want - room { // a smaller window
		e.slots <- struct{}{}
	}
	e.job.mu.Lock()
	e.open(room)
	e.job.mu.Unlock()
	return e.job.srv.executors.Run(e.ctx, &executor.Job{
		Plan: e.job.plan, Text: e.job.decoded.Text, Kept: e.job.mask, Inputs: e.inputs, Memory: e.job.account, Sink: e, Begin: e.begin, Again: e.again,
	}, stats)
}

// open sets the number of result batches. If each participant can have two, as it
// asks for, and one is left, that one is the join's: it can make results, which
// may move to disk, even if participants hold all that they may. The caller holds
// the job's lock.
func (e *jobRun) open(room int) {
	participants := int(e.job.open.Participants)
	e.room, e.spoolable = room, room > 2*participants
	window := room
	if e.spoolable {
		window--
	}
	e.scheduler.open(window, participants)
}

// begin records the provider that executes the join.
func (e *jobRun) begin(provider, fallback string) {
	e.job.mu.Lock()
	defer e.job.mu.Unlock()
	e.provider, e.fallback = provider, fallback
}

// again discards the results of a failed executor and reports whether it could.
// It cannot once rows were sent.
func (e *jobRun) again() bool {
	j := e.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil || j.exec != e || e.sent {
		return false
	}
	e.dropReady()
	e.rowsOut, e.bytesOut = 0, 0
	e.full = make(chan struct{}) // the failed executor may have filled the window
	return true
}

// finish tells the participants that the results are complete, or why the join
// has failed. It reports whether the job still runs this generation.
func (e *jobRun) finish(stats *joincore.Stats, err error) (current bool) {
	j := e.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil || j.exec != e {
		e.dropReady()
		return false
	}
	if err != nil {
		f := toFailure(err)
		if j.mask != 0 {
			j.srv.unkept.failed(j.decoded.Text, f.code)
		}
		j.failLocked(f)
		return true
	}
	e.produced = true
	e.stats = *stats
	j.srv.phases.took(joinPhase, stats.JoinTime)
	j.srv.counters.count(func(t *totals) {
		t.Joins += int64(len(stats.Joins))
		t.Blocks += int64(len(stats.Aggregates))
	})
	e.announce()
	j.schedule()
	e.kick()
	if j.open.Flags&shm.OpenRewind == 0 { // takes a while, so the answer comes first
		j.freeInputs()
	}
	j.account.Trim()
	return true
}

// announce answers RUN. The caller holds the job's lock.
func (e *jobRun) announce() {
	if e.announced {
		return
	}
	e.announced, e.returning = true, time.Now()
	e.touch()
	e.job.account.Returning()
	var buf [shm.FrameSize]byte
	e.starter.out.send(shm.AppendEmpty(buf[:0], shm.MsgRunning))
}

// dropReady frees the batches that were not sent, in memory and on disk. The
// caller holds the job's lock.
func (e *jobRun) dropReady() {
	for _, b := range e.ready {
		e.dropExtent(b.extent)
	}
	e.ready = nil
	e.dropSpooled()
}

// delivered reports whether all results were sent. The caller holds the job's
// lock.
func (e *jobRun) delivered() bool {
	return e.produced && len(e.ready) == 0 && !e.spooling.onDisk()
}

// batchBack returns a slot of the window, which allows another batch.
func (e *jobRun) batchBack() { <-e.slots }
