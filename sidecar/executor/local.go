package executor

import (
	"context"
	"runtime"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// Local is an Executor that runs jobs in this process. It is always ready.
type Local struct {
	provider device.Provider
	options  func() exec.Options
	name     string
	cores    *Cores
	jobs     atomic.Int64
}

var _ Last = (*Local)(nil)

// NewLocal returns an executor that runs joins on p. options is called for each
// join, and always returns the same number of streams. name is the device's name in
// status reports.
func NewLocal(p device.Provider, options func() exec.Options, name string) *Local {
	cores := options().Device.Streams
	if cores <= 0 {
		cores = runtime.GOMAXPROCS(0)
	}
	return &Local{provider: p, options: options, name: name, cores: NewCores(cores)}
}

func (l *Local) Name() string { return l.provider.Name() }

func (l *Local) Ready() error { return nil }

func (l *Local) Check(plan *joincore.Checked) error { return device.Check(l.provider, plan) }

func (l *Local) Run(ctx context.Context, job *Job, stats *joincore.Stats) error {
	l.jobs.Add(1)
	defer l.jobs.Add(-1)
	share := l.cores.Join()
	defer share.Close()
	options := l.options()
	options.Device.Turns = share
	return exec.Run(ctx, l.provider, job.Plan, job.Inputs, job.Memory, job.Sink, options, stats)
}

func (l *Local) Load() (joins, threads int) { return l.cores.Load() }

func (l *Local) Estimate(plan *joincore.Checked) int64 { return exec.Estimate(plan, l.options()) }

func (l *Local) Devices() []Device {
	return []Device{{Provider: l.Name(), Name: l.name, State: StateReady, Jobs: int(l.jobs.Load())}}
}

// Links returns none: the cores are one device.
func (l *Local) Links() []Link { return nil }

func (l *Local) Close() {}
