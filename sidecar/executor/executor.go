// Package executor is where joins are executed: an executor runs plans, in this
// process or in another one, and a set of executors chooses one for each job
// and goes on with the next where one fails.
package executor

import (
	"context"
	"errors"

	"gpujoin/joincore"
)

// ErrAbsent: the machine does not have what a executor needs. It is the normal
// state of most machines, and no news to anybody who runs a query.
var ErrAbsent = errors.New("not available here")

// ErrUnavailable: a executor that should work does not at the moment.
var ErrUnavailable = errors.New("out of service")

// Executor executes plans on the devices of one provider.
type Executor interface {
	// Name is the provider's, at most 15 bytes.
	Name() string
	// Ready returns why no job can run now: ErrAbsent, ErrUnavailable.
	Ready() error
	// Run executes a job. When it returns nothing of the executor touches the
	// job's inputs, batches or memory any more, whatever has happened. It may
	// fill stats of a run that fails.
	Run(ctx context.Context, job *Job, stats *joincore.Stats) error
	// Devices describes what the executor works on, for people.
	Devices() []Device
	// Close ends the executor. No job may be running.
	Close()
}

// Job is what is to be executed.
type Job struct {
	Plan   *joincore.Plan
	Inputs []*joincore.Relation // in extents, for executors in other processes
	Memory Memory
	Sink   joincore.Sink
	// Begin is told who begins to execute the job, and why it is not a executor
	// that was preferred; "" where there is nothing to say.
	Begin func(provider, fallback string)
	// Again says whether the job may be started anew after a failure, and then
	// forgets what the sink has got. nil: never.
	Again func() bool
}

// Memory is the account of a job.
type Memory interface {
	joincore.Memory
	// Book counts bytes that another process maps for the job; ErrBudget.
	Book(n int64) error
	Unbook(n int64)
	// Place returns in which extent b lies, and where in it.
	Place(b []byte) (extent uint64, offset int64, ok bool)
}

// States of a device.
const (
	StateReady    = "ready"
	StateAbsent   = "absent"   // the machine does not have it
	StateStarting = "starting" // its process is
	StateWaiting  = "waiting"  // its process has ended and will be started again
	StateBroken   = "broken"   // its process has ended too often
)

// Device is one device as people see it.
type Device struct {
	Number   int    `json:"device"`
	Provider string `json:"provider"`
	Name     string `json:"name"`
	State    string `json:"state"`
	Reason   string `json:"reason,omitempty"` // why it is not ready, or what it does without
	Memory   int64  `json:"memory,omitempty"` // bytes
	Budget   int64  `json:"budget,omitempty"` // of them that joins may take
	Used     int64  `json:"used"`
	Jobs     int    `json:"jobs"`
	Queued   int    `json:"queued"`
	Restarts int    `json:"restarts"` // of its process
}
