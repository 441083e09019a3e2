package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"

	"gpujoin/joincore"
)

// Policy says which executor gets a job.
type Policy struct {
	// MinRows is how many rows all inputs together have at least, for a job to
	// leave this process; 0: every job does.
	MinRows int64
	// Insist says that the preferred executors were asked for, so that it is
	// worth saying where the machine does not have them.
	Insist bool
	// Worth says whether a job of enough rows is predicted to take less time on
	// the preferred executors; nil: it is.
	Worth func(*Job) bool
}

// Set is the executors of a daemon.
type Set struct {
	preferred []Executor // tried in order
	last      Last       // runs what no other one does
	policy    Policy
	log       *slog.Logger
}

// Last is a executor that runs every job.
type Last interface {
	Executor
	// Estimate returns the private bytes that executing plan is expected to
	// need, beside inputs and results.
	Estimate(plan *joincore.Plan) int64
	// Load returns how many joins have work to do for a thread, and how many
	// threads may work on joins at a time.
	Load() (joins, threads int)
}

// NewSet returns a set that tries the preferred executors before the last one.
func NewSet(last Last, policy Policy, log *slog.Logger, preferred ...Executor) *Set {
	return &Set{preferred: preferred, last: last, policy: policy, log: log}
}

// Estimate returns the private bytes that a job is expected to need. They are
// those of running it here, so that falling back needs no more than was
// reserved.
func (s *Set) Estimate(plan *joincore.Plan) int64 {
	n := s.last.Estimate(plan)
	if n < 0 { // absurd estimates of rows
		return math.MaxInt64
	}
	return n
}

// Load returns how busy the cores are.
func (s *Set) Load() (joins, threads int) { return s.last.Load() }

// Run executes a job on the first executor that is ready for it and does not
// fail. The error is of the last executor that has tried.
func (s *Set) Run(ctx context.Context, job *Job, stats *joincore.Stats) error {
	sink := &watchedSink{Sink: job.Sink}
	watched := *job
	watched.Sink = sink
	var reasons []string
	if s.policy.leaves(job) {
		for _, b := range s.preferred {
			err := b.Ready()
			if errors.Is(err, ErrAbsent) && !s.policy.Insist {
				continue
			}
			if err == nil {
				job.Begin(b.Name(), strings.Join(reasons, "; "))
				err = b.Run(ctx, &watched, stats)
				if err == nil || !s.again(ctx, job, sink, err) {
					return err
				}
				s.log.Warn("join failed and is run again", "provider", b.Name(), "error", err)
				*stats = joincore.Stats{}
			}
			reasons = append(reasons, firstLine(fmt.Sprintf("%s: %v", b.Name(), err)))
		}
	}
	job.Begin(s.last.Name(), strings.Join(reasons, "; "))
	return s.last.Run(ctx, job, stats)
}

// leaves says whether a job is for the preferred executors.
func (p *Policy) leaves(job *Job) bool {
	return inputRows(job) >= p.MinRows && (p.Worth == nil || p.Worth(job))
}

// again says whether another executor may try a job that has failed: where the
// executor is to blame, and nobody has got rows of it.
func (s *Set) again(ctx context.Context, job *Job, sink *watchedSink, err error) bool {
	return ctx.Err() == nil && sink.failure() == nil && !errors.Is(err, joincore.ErrRowTooWide) &&
		job.Again != nil && job.Again()
}

func inputRows(job *Job) int64 {
	n := int64(0)
	for _, r := range job.Inputs {
		n += r.Rows()
	}
	return n
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Names returns the providers that this machine has, the first choice first.
func (s *Set) Names() []string {
	var out []string
	for _, b := range s.preferred {
		if !errors.Is(b.Ready(), ErrAbsent) {
			out = append(out, b.Name())
		}
	}
	return append(out, s.last.Name())
}

// Devices describes the devices of all executors.
func (s *Set) Devices() []Device {
	var out []Device
	for _, b := range s.preferred {
		out = append(out, b.Devices()...)
	}
	return append(out, s.last.Devices()...)
}

// Close ends all executors. No job may be running.
func (s *Set) Close() {
	for _, b := range s.preferred {
		b.Close()
	}
	s.last.Close()
}

// watchedSink remembers that the sink itself has failed.
type watchedSink struct {
	joincore.Sink
	mu  sync.Mutex
	err error
}

func (w *watchedSink) note(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *watchedSink) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// NewBatch implements joincore.Sink.
func (w *watchedSink) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	b, err := w.Sink.NewBatch(ctx, heap)
	// Who gave up waiting was told to; that is not the sink's failure.
	if ctx.Err() == nil {
		w.note(err)
	}
	return b, err
}

// Emit implements joincore.Sink.
func (w *watchedSink) Emit(ctx context.Context, b *joincore.Batch, rows int, heap []int) error {
	err := w.Sink.Emit(ctx, b, rows, heap)
	w.note(err)
	return err
}
