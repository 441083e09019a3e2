// Package worker implements an executor whose joins run in a child process, the
// worker.
//
// A supervisor probes for the child's requirements, starts the child, polls its
// status, restarts it after it has ended, and kills one that hangs or violates the
// protocol.
//
// The child receives each extent once and learns over gRPC which bytes hold a job's
// inputs and batches. The daemon does not reuse memory that a child may write
// until the child has released it or its process has ended. The daemon
// validates everything that the child sends.
package worker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/memory"
)

// Config says which worker to keep, and how.
type Config struct {
	Name     string   // of the provider
	Path     string   // of the worker's program
	Args     []string // of the program
	Checksum []byte   // SHA-256 that the program must have; nil: what it has now
	// Sockets is a directory that only the daemon's user can read. It is created,
	// and files of a previous daemon are removed.
	Sockets string
	// Probe says what is missing on this machine, before a child is started.
	Probe func() error
	// Check returns an error that wraps joincore.ErrUnsupported if the child's
	// provider cannot run a plan. nil: it runs all that the messages can describe.
	Check   func(plan *joincore.Checked) error
	Environ []string // the daemon's, of which the child gets a few
	Store   *memory.Store
	Log     *slog.Logger
	Timing  Timing
}

// Timing is how patient the supervisor is.
type Timing struct {
	Start        time.Duration // until a child serves
	First        time.Duration // from then until its first sign of life
	Health       time.Duration // between signs of life
	Silence      time.Duration // without one, until it is killed
	Cancel       time.Duration // from cancelling a job until it has stopped
	Reap         time.Duration // for a killed child to exit, until its jobs end without it
	Stop         time.Duration // for a child to end by itself when asked to
	Probe        time.Duration // between probes that find something missing
	RestartFirst time.Duration // after the first end; doubles
	RestartMost  time.Duration
	Deaths       int           // within Window open the breaker
	Window       time.Duration // for deaths to be forgotten
	Open         time.Duration // how long the breaker stays open
}

// DefaultTiming is for real devices.
var DefaultTiming = Timing{
	Start: 5 * time.Minute, First: time.Minute, Health: time.Second, Silence: 5 * time.Second, Cancel: 10 * time.Second,
	Reap: 10 * time.Second, Stop: 2 * time.Second, Probe: time.Minute,
	RestartFirst: time.Second, RestartMost: time.Minute,
	Deaths: 5, Window: 10 * time.Minute, Open: 10 * time.Minute,
}

// Remote is an executor.Executor whose joins run in a child process.
type Remote struct {
	config Config
	sum    []byte // SHA-256 of the program
	cancel context.CancelFunc
	done   chan struct{} // closed when supervision has ended

	mu       sync.Mutex
	state    string
	reason   error
	process  *process // set in StateReady
	devices  []executor.Device
	links    []executor.Link
	restarts int
}

var (
	_ executor.Executor = (*Remote)(nil)
	_ executor.Keeper   = (*Remote)(nil)
)

// Start starts supervising a worker and returns at once. A missing worker, or
// one that does not start, is a state that Ready reports, not an error. The
// caller must call Close.
func Start(config Config) *Remote {
	r := &Remote{config: config, sum: config.Checksum, done: make(chan struct{}), state: executor.StateStarting}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	probe := config.Probe
	r.config.Probe = func() error {
		if err := probe(); err != nil || r.sum != nil {
			return err
		}
		// From here on, only the program found now is started.
		path, err := checkProgram(config.Path)
		if err == nil {
			r.sum, err = checksum(path)
		}
		return err
	}
	if err := r.config.Probe(); err != nil {
		r.set(executor.StateAbsent, err, nil, nil)
	}
	go r.supervise(ctx)
	return r
}

func (r *Remote) Name() string { return r.config.Name }

// set records the state and logs changes.
func (r *Remote) set(state string, reason error, p *process, now *report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != state || fmt.Sprint(r.reason) != fmt.Sprint(reason) {
		switch state {
		case executor.StateReady:
			for _, d := range now.devices {
				if d.State != executor.StateReady {
					r.config.Log.Warn("device is not used", "provider", r.config.Name, "device", d.Number, "name", d.Name, "reason", d.Reason)
					continue
				}
				r.config.Log.Info("device ready", "provider", r.config.Name, "device", d.Number, "name", d.Name,
					"memory", d.Memory, "budget", d.Budget)
			}
		case executor.StateAbsent:
			r.config.Log.Info("provider is not available", "provider", r.config.Name, "reason", reason)
		}
	}
	r.state, r.reason, r.process = state, reason, p
	if now != nil {
		r.devices, r.links = now.devices, now.links
	}
}

// died records the end of a child.
func (r *Remote) died() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.restarts++
}

func (r *Remote) Ready() error {
	_, err := r.current()
	return err
}

// current returns the child, or the reason why there is none.
func (r *Remote) current() (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.state == executor.StateReady && slices.ContainsFunc(r.devices, usable):
		return r.process, nil
	case r.state == executor.StateReady:
		return nil, fmt.Errorf("%w: no device was found", executor.ErrAbsent)
	case r.state == executor.StateAbsent:
		return nil, fmt.Errorf("%w: %w", executor.ErrAbsent, r.reason)
	case r.reason == nil:
		return nil, fmt.Errorf("%w: %s", executor.ErrUnavailable, r.state)
	}
	return nil, fmt.Errorf("%w: %w", executor.ErrUnavailable, r.reason)
}

func usable(d executor.Device) bool { return d.State == executor.StateReady }

// Check does not encode the plan: the messages describe every plan that the daemon builds.
func (r *Remote) Check(plan *joincore.Checked) error {
	if r.config.Check == nil {
		return nil
	}
	return r.config.Check(plan)
}

func (r *Remote) Run(ctx context.Context, job *executor.Job, stats *joincore.Stats) error {
	p, err := r.current()
	if err != nil {
		return err
	}
	return p.run(ctx, job, stats)
}

// Forget implements executor.Keeper: the child is told with the next request for its status.
func (r *Remote) Forget(content uint64) {
	r.mu.Lock()
	p := r.process
	r.mu.Unlock()
	if p != nil {
		p.contents.forget(content)
	}
}

// Resident implements executor.Keeper: what the child had when its status was asked for last.
func (r *Remote) Resident() map[uint64]int64 {
	r.mu.Lock()
	p := r.process
	r.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.contents.resident()
}

// Devices keeps listing known devices while their process is down.
func (r *Remote) Devices() []executor.Device {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.devices)
	if len(out) == 0 {
		out = make([]executor.Device, 1)
	}
	for i := range out {
		d := &out[i]
		d.Provider, d.Restarts = r.config.Name, r.restarts
		if r.state == executor.StateReady && d.State == executor.StateBroken {
			continue // the others are ready
		}
		d.State = r.state
		if r.state != executor.StateReady {
			d.Used, d.Resident, d.Kept, d.Jobs, d.Queued, d.Reason = 0, 0, 0, 0, 0, ""
			d.Strategies, d.Methods = nil, nil
		}
		if r.reason != nil {
			d.Reason = r.reason.Error()
		}
	}
	return out
}

// Links returns none unless the process runs.
func (r *Remote) Links() []executor.Link {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != executor.StateReady {
		return nil
	}
	out := slices.Clone(r.links)
	for i := range out {
		out[i].Provider = r.config.Name
	}
	return out
}

func (r *Remote) Close() {
	r.cancel()
	<-r.done
}
