// Package executor runs joins. An Executor runs plans in this process or in
// another one. A Set selects an executor for each job and tries the next one if
// it fails.
package executor

import (
	"context"
	"errors"

	"gpujoin/joincore"
)

// ErrAbsent reports that the machine lacks what an executor needs, such as a
// GPU. This is normal and not worth reporting to the user of a query.
var ErrAbsent = errors.New("not available on this machine")

// ErrUnavailable reports that an executor that should work is out of service.
var ErrUnavailable = errors.New("out of service")

// Executor runs plans on the devices of one provider.
type Executor interface {
	// Name returns the provider's name, at most 15 bytes.
	Name() string
	// Ready returns nil if the executor can run jobs, or an error that wraps
	// ErrAbsent or ErrUnavailable.
	Ready() error
	// Check returns nil if the executor can run a plan, or an error that wraps
	// joincore.ErrUnsupported.
	Check(plan *joincore.Checked) error
	// Run executes a job. After it returns, with or without an error, the
	// executor no longer writes to the job's batches or memory, except to extents
	// that it retains and memory that stays booked. A process that was killed and
	// has not exited may still read. A failed run may fill stats in part.
	Run(ctx context.Context, job *Job, stats *joincore.Stats) error
	// Devices describes the executor's devices for status reports.
	Devices() []Device
	// Links describes how the executor's devices are connected, for status reports.
	Links() []Link
	// Close shuts the executor down. No job may be running.
	Close()
}

// Keeper is an executor whose devices keep contents (joincore.Vector) from one job to the next.
type Keeper interface {
	// Forget says that a content is gone. It does not wait, and calls nobody.
	Forget(content uint64)
	// Resident returns the contents that devices keep, with the bytes of each. The caller does
	// not change it.
	Resident() map[uint64]int64
}

// Job is a plan with its inputs, output and memory.
type Job struct {
	Plan   *joincore.Checked
	Text   []byte               // the job that Plan is made of, docs/internals/job.md, for executors in other processes
	Kept   uint64               // the inputs that are kept: planjson.Job.PlanFor(Kept) of Text is Plan
	Inputs []*joincore.Relation // in extents, so that other processes can read them
	Memory Memory
	Sink   joincore.Sink
	// Begin is called when an executor starts the job, with its provider.
	// fallback is the reason why no preferred executor runs the job, "" if
	// there is none to report.
	Begin func(provider, fallback string)
	// Again reports whether the job may be restarted after a failure. If so, it
	// discards the rows that the sink has received. nil means never.
	Again func() bool
}

// Memory is a job's memory account.
type Memory interface {
	joincore.Memory
	// Book charges n bytes that another process maps for the job. Errors wrap
	// joincore.ErrBudget.
	Book(n int64) error
	// Unbook returns n booked bytes. It may be called after the job's end.
	Unbook(n int64)
	// Retain keeps the extent that contains b, which the caller uses, so that it is
	// not reused before release is called. That may be after the job's end. release
	// is nil if b is in no extent.
	Retain(b []byte) (release func())
	// Place returns the extent that contains b, and all of its bytes; nil if b is in no extent.
	Place(b []byte) (extent uint64, data []byte)
}

// Link is how rows get from one device to another, or between a device and the host.
type Link struct {
	Provider string  `json:"provider"`
	From     *int    `json:"source"` // number of a device; nil: the host
	To       *int    `json:"target"`
	Kind     string  `json:"kind"`
	GBps     float64 `json:"gbps,omitempty"`       // 10^9 bytes a second of large copies; 0: unknown
	Latency  float64 `json:"latency_us,omitempty"` // of a small copy; 0: unknown
	Note     string  `json:"note,omitempty"`       // what is missing, and why
}

// States of a device.
const (
	StateReady    = "ready"
	StateAbsent   = "absent"   // the machine does not have the device
	StateStarting = "starting" // the device's process is starting
	StateWaiting  = "waiting"  // the process has ended and will be restarted
	StateBroken   = "broken"   // the process has ended too often, or the device cannot be used
)

// Device is a device as status reports show it.
type Device struct {
	Number   int    `json:"device"`
	Provider string `json:"provider"`
	Name     string `json:"name"`
	State    string `json:"state"`
	Reason   string `json:"reason,omitempty"` // why it is not ready, or which feature it runs without
	Memory   int64  `json:"memory,omitempty"` // bytes
	Budget   int64  `json:"budget,omitempty"` // bytes of Memory that joins may use
	Used     int64  `json:"used"`
	Resident int64  `json:"resident"` // bytes of kept columns that stay on the device
	Kept     int64  `json:"kept"`     // bytes of host memory that its process keeps for later joins, at the process's first device
	Jobs     int    `json:"jobs"`
	Queued   int    `json:"queued"`
	Restarts int    `json:"restarts"` // of the device's process
	// Strategies are how jobs that begin on the device can be executed, while all others are idle;
	// none are known of one that is not ready, and of cores.
	Strategies []Strategy `json:"strategies,omitempty"`
	// Methods are how inputs can be transferred to the device; none are known of one that is not
	// ready, and of cores.
	Methods []Method `json:"transfer_methods,omitempty"`
}

// Method is a way in which inputs are transferred to a device: joincore/cuda/links has its names.
type Method struct {
	Name   string `json:"method"`
	Reason string `json:"reason,omitempty"` // why the device does not have it; "": it has
}

// Strategy is a way to execute jobs on the devices of a machine: joincore/costmodel has its names.
type Strategy struct {
	Name   string `json:"strategy"`
	Reason string `json:"reason,omitempty"` // why no job can be executed so; "": jobs can, if they fit
	Note   string `json:"note,omitempty"`   // what makes that slower than it could be; "": nothing
}
