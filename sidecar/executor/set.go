package executor

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"gpujoin/joincore"
)

// Policy selects the jobs that the preferred executors run.
type Policy struct {
	// MinRows is the minimum total of input rows for a job to run on a
	// preferred executor; 0 means no minimum.
	MinRows int64
	// Insist is set if the user requested the preferred executors, so that
	// their absence is reported.
	Insist bool
	// Worth reports whether a job with at least MinRows rows is predicted to
	// take less time on the preferred executors. Their devices have the contents for which
	// resident is true. nil means always.
	Worth func(job *Job, resident func(content uint64) bool) bool
}

// Set holds the executors of a daemon.
type Set struct {
	all    []Executor // the preferred ones, which are tried in order, and the last one
	last   Last       // runs the jobs that no preferred executor runs
	policy Policy
	log    *slog.Logger
}

// Last is an executor that can run every job.
type Last interface {
	Executor
	// Estimate returns the private memory, in bytes, that executing plan is
	// expected to need in addition to inputs and results.
	Estimate(plan *joincore.Checked) int64
	// Load returns the number of joins that have work for a thread and the
	// number of threads that may work on joins at a time.
	Load() (joins, threads int)
}

// NewSet returns a set that tries the preferred executors before the last one.
func NewSet(last Last, policy Policy, log *slog.Logger, preferred ...Executor) *Set {
	return &Set{all: append(slices.Clip(preferred), last), last: last, policy: policy, log: log}
}

// Estimate returns the private memory, in bytes, that a job is expected to
// need. It assumes that the last executor runs the job, so that a fallback
// needs no more memory than was reserved.
func (s *Set) Estimate(plan *joincore.Checked) int64 { return s.last.Estimate(plan) }

// Load returns the load of the cores; see Last.
func (s *Set) Load() (joins, threads int) { return s.last.Load() }

// Run executes a job on the first executor that is ready for it and succeeds.
// It returns the error of the last executor that it tried.
func (s *Set) Run(ctx context.Context, job *Job, stats *joincore.Stats) error {
	sink := &joincore.WatchedSink{Sink: job.Sink}
	watched := *job
	watched.Sink = sink
	var reasons []string
	if s.policy.prefers(job, s.has()) {
		for _, e := range s.all[:len(s.all)-1] {
			err := e.Ready()
			if err == nil {
				err = e.Check(job.Plan)
			}
			if (errors.Is(err, ErrAbsent) || errors.Is(err, joincore.ErrUnsupported)) && !s.policy.Insist {
				continue
			}
			if err == nil {
				job.Begin(e.Name(), strings.Join(reasons, "; "))
				err = e.Run(ctx, &watched, stats)
				if err == nil || !s.again(ctx, job, sink, err) {
					return err
				}
				s.log.Warn("join failed; another executor runs it", "provider", e.Name(), "error", err)
				*stats = joincore.Stats{}
			}
			line, _, _ := strings.Cut(err.Error(), "\n")
			reasons = append(reasons, e.Name()+": "+line)
		}
	}
	job.Begin(s.last.Name(), strings.Join(reasons, "; "))
	return s.last.Run(ctx, job, stats)
}

// RunOnCores executes a job on the last executor.
func (s *Set) RunOnCores(ctx context.Context, job *Job, stats *joincore.Stats) error {
	return s.last.Run(ctx, job, stats)
}

// prefers reports whether the preferred executors should run a job. They have nothing to gain from one
// that only filters rows: all it returns, and all it reads, would cross the bus.
func (p *Policy) prefers(job *Job, resident func(content uint64) bool) bool {
	if len(joincore.Joins(job.Plan.Root)) == 0 && len(joincore.Aggregates(job.Plan.Root)) == 0 {
		return false
	}
	rows := int64(0)
	for _, r := range job.Inputs {
		rows += r.Rows()
	}
	return rows >= p.MinRows && (p.Worth == nil || p.Worth(job, resident))
}

// Forget says that a content is gone. It does not wait.
func (s *Set) Forget(content uint64) {
	for _, e := range s.all {
		if k, ok := e.(Keeper); ok {
			k.Forget(content)
		}
	}
}

// Resident returns the bytes that contents take on devices.
func (s *Set) Resident() (bytes func(content uint64) int64) {
	var lists []map[uint64]int64
	for _, e := range s.all {
		if k, ok := e.(Keeper); ok {
			lists = append(lists, k.Resident())
		}
	}
	return func(content uint64) (n int64) {
		for _, l := range lists {
			n += l[content]
		}
		return n
	}
}

// has returns what tells whether devices have a content.
func (s *Set) has() func(content uint64) bool {
	bytes := s.Resident()
	return func(content uint64) bool { return bytes(content) > 0 }
}

// again reports whether another executor may retry a failed job: the executor
// caused the failure and no participant has received rows.
func (s *Set) again(ctx context.Context, job *Job, sink *joincore.WatchedSink, err error) bool {
	return ctx.Err() == nil && !sink.Failed(err) && !joincore.Final(err) && job.Again != nil && job.Again()
}

// Names returns the providers that this machine has, in order of preference.
func (s *Set) Names() []string {
	var out []string
	for _, e := range s.all {
		if !errors.Is(e.Ready(), ErrAbsent) {
			out = append(out, e.Name())
		}
	}
	return out
}

// Devices describes the devices of all executors.
func (s *Set) Devices() []Device {
	var out []Device
	for _, e := range s.all {
		out = append(out, e.Devices()...)
	}
	return out
}

// Links describes the links of all executors.
func (s *Set) Links() []Link {
	out := []Link{}
	for _, e := range s.all {
		out = append(out, e.Links()...)
	}
	return out
}

// Close closes all executors. No job may be running.
func (s *Set) Close() {
	for _, e := range s.all {
		e.Close()
	}
}
