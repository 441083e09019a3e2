// Package sidecar implements the daemon. It accepts jobs from PostgreSQL
// backends over a unix socket, grants them extents to fill, executes the join
// and distributes the result.
//
// Each connection is one session and belongs to one participant of one job. A
// goroutine per session reads its frames and never blocks on another session:
// work that waits (admission, the join) runs in other goroutines, and frames to
// a peer that does not read are queued. A job ends with its last session. Locks
// are taken in the order job, Server, session, outbox, memory.
//
// The result of a job is in four places: batches that the join makes, ready ones,
// those that participants hold and, if they stay unread while jobs wait for
// memory, those on disk. Ready batches go to disk and back, not those that are sent: so
// the protocol knows nothing of the disk, and the order of batches is free.
//
// No input from a peer can end the process: the daemon checks every length,
// count and id, turns a panic of a job into that job's failure, and seals
// extents, so that their pages cannot be truncated.
package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/shm"
	"gpujoin/sidecar/config"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/foreign"
	"gpujoin/sidecar/kept"
	"gpujoin/sidecar/memory"
	"gpujoin/sidecar/spool"
)

// Server is a running daemon.
type Server struct {
	options   Options
	executors *executor.Set
	log       *slog.Logger
	trace     *Tracer
	budget    *memory.Budget
	store     *memory.Store
	keeper    *memory.Keeper
	kept      *kept.Store // nil: nothing is kept
	keptFile  *keptFile   // the same
	mirrors   *mirrorMemory
	sources   *foreign.Sources
	spool     *spool.Spool
	socket    *socket
	status    *statusFile
	pulse     *pulse
	started   time.Time

	ctx        context.Context // cancelled when the server ends
	cancel     context.CancelFunc
	background sync.WaitGroup // joins, tear-downs, upkeep
	serving    sync.WaitGroup // accept loop and sessions

	mu       sync.Mutex
	sessions map[*session]struct{}
	jobs     map[uint64]*job
	live     map[*job]struct{} // jobs that hold memory
	waiting  map[*job]struct{} // jobs that ask for memory
	nextID   uint64
	stopping bool
	quiet    chan struct{} // closed, once, when the server is stopping and no job is live
	once     sync.Once

	adjusted atomic.Pointer[config.Config] // by Adjust; nil: the options are in force
	counters counters
	phases   phases
	base     base
	unkept   unkept
	meter    *loadMeter // used only by the pulse
}

// Start claims the socket, unless options contains a claim, and serves until
// Stop is called. If it fails it releases the claim. Each job runs on the first
// preferred executor that can run it, otherwise on last. Start creates the
// preferred executors once it holds the socket; they read extents from the
// store that it passes to them.
func Start(options Options, last executor.Last, preferred ...func(*memory.Store) executor.Executor) (_ *Server, err error) {
	defer func() {
		if err != nil && options.Claim != nil {
			options.Claim.Release()
		}
	}()
	if err := options.Check(); err != nil {
		return nil, err
	}
	if options.Claim == nil {
		if options.Claim, err = ClaimSocket(options.Socket); err != nil {
			return nil, err
		}
	}
	if options.peerOf == nil {
		options.peerOf = peerOf
	}
	limits, err := findLimits()
	if err != nil {
		return nil, err
	}
	store, err := memory.NewStore(options.ExtentSize, options.MemoryBudget, limits.maxExtents(options.Connections))
	if err != nil {
		return nil, err
	}
	srv := &Server{
		options: options, log: options.Log, trace: options.Tracer,
		budget: memory.NewBudget(options.MemoryBudget), store: store, spool: spool.New(options.SpoolDir, options.SpoolLimit), started: time.Now(),
		sessions: map[*session]struct{}{}, jobs: map[uint64]*job{}, live: map[*job]struct{}{}, waiting: map[*job]struct{}{},
		quiet: make(chan struct{}), meter: &loadMeter{proc: "/proc"}, counters: counters{totals: totals{Reasons: map[string]int64{}}},
	}
	if srv.options.pinOf == nil {
		srv.options.pinOf = srv.findPin
	}
	srv.keeper = memory.NewKeeper(srv.budget, store, "columns")
	if options.KeepMemory > 0 {
		srv.kept = kept.New(keptMemory{srv}, kept.Options{Limit: options.KeepMemory, Interest: options.KeepInterest, Gone: func(content uint64) {
			srv.executors.Forget(content)
		}})
		srv.keptFile = &keptFile{path: options.Socket + ".kept", store: srv.kept}
		srv.budget.Reclaim(func(need int64) { srv.kept.Shrink(need) })
	}
	srv.ctx, srv.cancel = context.WithCancel(context.Background())
	srv.mirrors = newMirrorMemory(srv)
	srv.sources = foreign.New(srv.mirrors, foreign.Options{Limit: options.MirrorMemory, Log: options.Log, Gone: func(content uint64) {
		srv.executors.Forget(content)
	}, Resident: func() func(uint64) int64 { return srv.executors.Resident() }})
	if srv.socket, err = listen(options.Claim); err != nil {
		return nil, err
	}
	if srv.status, err = publish(options.Socket+".status", options.status()); err != nil {
		srv.socket.stop()
		return nil, err
	}
	var before []executor.Executor
	for _, start := range preferred {
		before = append(before, start(store))
	}
	srv.executors = executor.NewSet(last, options.Policy, options.Log, before...)
	srv.pulse, err = startPulse(srv.status, srv.load, func(err error) { srv.log.Error("could not publish the load", "error", err) })
	if err != nil {
		srv.executors.Close()
		_ = srv.status.remove() // the first error is returned
		srv.socket.stop()
		return nil, err
	}
	srv.background.Go(srv.upkeep)
	srv.background.Go(srv.watch)
	srv.background.Go(srv.mirrors.work)
	if options.Measure != nil {
		srv.background.Go(srv.measure)
	}
	if srv.kept != nil {
		srv.background.Go(func() { srv.kept.Work(srv.ctx) })
		srv.background.Go(srv.publishKept)
	}
	srv.startSpooling()
	srv.serving.Go(srv.accept)
	return srv, nil
}

// Adjust replaces those settings of the options that a running server can take
// (config.Adjustable). They count from the next connection, wait or stop.
func (srv *Server) Adjust(c config.Config) { srv.adjusted.Store(&c) }

// settings returns the configuration for settings that may change.
func (srv *Server) settings() *config.Config {
	if c := srv.adjusted.Load(); c != nil {
		return c
	}
	return &srv.options.Config
}

// Beats returns the number of writes of the daemon's load. It stands still while a lock
// that answering a backend needs is stuck.
func (srv *Server) Beats() uint64 { return srv.pulse.beats.Load() }

// upkeep warms and trims the store until the server ends.
func (srv *Server) upkeep() {
	if err := srv.store.Warm(srv.ctx, srv.options.MemoryWarm); err != nil {
		srv.log.Warn("could not warm all extents", "error", err)
	}
	srv.store.Upkeep(srv.ctx, srv.options.MemoryWarm, srv.options.IdleTrim)
}

// watch restores the socket, its lock file and the status file if they are
// deleted.
func (srv *Server) watch() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-srv.ctx.Done():
			return
		case <-tick.C:
		}
		if srv.isStopping() {
			continue
		}
		restored, err := srv.socket.restore()
		if restored {
			srv.log.Warn("the socket was deleted; listening again", "socket", srv.options.Socket)
		}
		if err == nil {
			err = srv.status.restore()
		}
		if err != nil && err.Error() != said {
			said = err.Error()
			srv.log.Error("could not recreate the socket's files", "socket", srv.options.Socket, "error", err)
		}
	}
}

// load returns the daemon's load. It takes the locks that answering a peer
// needs.
func (srv *Server) load() shm.Load {
	l := srv.meter.measure()
	joins, threads := srv.executors.Load()
	l.Running, l.Threads = uint32(joins), uint32(threads)
	l.Queued = uint32(srv.budget.Usage().Queued)
	if srv.keptFile != nil {
		l.Kept = srv.keptFile.version.Load()
	}
	_ = srv.isStopping() // takes the last of the locks that answering a peer needs
	return l
}

func (srv *Server) isStopping() bool {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.stopping
}

func (srv *Server) addJob(j *job) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.nextID++
	j.id = srv.nextID
	srv.jobs[j.id] = j
	srv.live[j] = struct{}{}
}

func (srv *Server) listJobs() []*job {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return slices.Collect(maps.Values(srv.jobs))
}

func (srv *Server) findJob(id uint64) *job {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.jobs[id]
}

// removeJob removes j, so that no further participant can attach.
func (srv *Server) removeJob(j *job) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	delete(srv.jobs, j.id)
}

// jobEnded records that j no longer holds memory.
func (srv *Server) jobEnded(j *job) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	delete(srv.live, j)
	srv.checkQuiet()
}

func (srv *Server) checkQuiet() {
	if srv.stopping && len(srv.live) == 0 {
		srv.once.Do(func() { close(srv.quiet) })
	}
}

func (srv *Server) forget(s *session) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	delete(srv.sessions, s)
}

// tearDownTimeout is how long jobs may take to end once the daemon ends them. A worker has
// 10 s to cancel a join before it is killed.
const tearDownTimeout = 20 * time.Second

// hurry is what is left of tearDownTimeout when the daemon must stop at once.
const hurry = 3 * time.Second

// Stop shuts the server down gracefully. It admits no further jobs and waits
// for running jobs until the stop timeout expires or ctx is done. Then it ends
// all sessions and releases the socket. It returns an error if a job does not
// end, as when its worker hangs in a driver; the process should then exit.
func (srv *Server) Stop(ctx context.Context) error {
	statusErr := srv.status.stopping()
	srv.mu.Lock()
	srv.stopping = true
	srv.checkQuiet()
	running := len(srv.live)
	srv.mu.Unlock()
	srv.socket.stop()
	srv.budget.Stop()
	timeout := srv.settings().StopTimeout
	if running > 0 {
		srv.log.Info("waiting for jobs", "jobs", running, "timeout", timeout)
	}
	select {
	case <-srv.quiet:
	case <-time.After(timeout):
	case <-ctx.Done():
	}
	tearDownErr := srv.tearDown(ctx)
	srv.pulse.stop()
	if err := srv.status.remove(); err != nil && statusErr == nil {
		statusErr = err
	}
	if srv.keptFile != nil {
		if err := srv.keptFile.remove(); err != nil && statusErr == nil {
			statusErr = err
		}
	}
	srv.socket.release()
	if tearDownErr != nil {
		return tearDownErr
	}
	if statusErr != nil {
		return fmt.Errorf("files next to the socket: %w", statusErr)
	}
	return nil
}

// tearDown ends all jobs and sessions, and frees all memory once they have ended.
func (srv *Server) tearDown(ctx context.Context) error {
	srv.cancel()
	srv.mu.Lock()
	jobs, sessions := srv.live, srv.sessions
	for j := range jobs {
		srv.mu.Unlock()
		j.fail(failf(shm.FailStopping, "the daemon is stopping"))
		srv.mu.Lock()
	}
	for s := range sessions {
		s.out.stop() // this ends the read loop, too
	}
	srv.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		srv.serving.Wait()
		srv.background.Wait()
		srv.executors.Close()
		srv.sources.Close()
		if srv.kept != nil {
			srv.kept.Shrink(math.MaxInt64)
		}
		srv.store.Close()
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(tearDownTimeout):
	case <-ctx.Done():
		select {
		case <-ended:
			return nil
		case <-time.After(hurry):
		}
	}
	return errors.New("jobs or their worker did not end; the daemon leaves them to the kernel")
}

// NewLocal returns the executor that runs joins in this process on provider p.
// It uses the given number of cores, 0 for all, and selects the algorithms of
// each join by the rates at its start; nil means default rates.
func NewLocal(p device.Provider, cores int, rates *Rates) *executor.Local {
	options := func() exec.Options {
		o := exec.Options{Device: device.Options{Streams: cores}}
		if rates != nil {
			o.Rates = rates.Now()
		}
		return o
	}
	return executor.NewLocal(p, options, processor())
}

// SetProcs sets GOMAXPROCS to the join threads of the given number of cores
// plus a reserve for other work. Without the reserve, joins could occupy all of
// Go's processors and a frame would wait for the next preemption, 10 ms or
// more. With it, the kernel schedules the threads, and it favours threads that
// have just slept.
func SetProcs(cores int) { runtime.GOMAXPROCS(executor.ThreadsPerCore*cores + 16) }
