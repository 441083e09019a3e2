package sidecar

import (
	"context"
	"math"
	"runtime"

	"gpujoin/joincore"
	"gpujoin/joincore/choose"
	"gpujoin/joincore/device"
	"gpujoin/joincore/run"
)

// Engine executes joins.
type Engine interface {
	// Name is the provider's, at most 15 bytes.
	Name() string
	// Estimate returns the private bytes that executing plan is expected to
	// need, beside inputs and results.
	Estimate(plan *joincore.Plan) int64
	// Run executes plan, as joincore/run does.
	Run(ctx context.Context, plan *joincore.Plan, inputs []*joincore.Relation,
		mem joincore.Memory, sink joincore.Sink, stats *joincore.Stats) error
}

// providerEngine executes on a provider.
type providerEngine struct {
	provider device.Provider
	options  run.Options
}

// NewEngine returns an Engine that works on cores cores of p, 0 for all, and
// chooses by rates; nil: defaults.
func NewEngine(p device.Provider, cores int, rates *choose.Rates) Engine {
	return &providerEngine{provider: p, options: run.Options{Rates: rates, Device: device.Options{Streams: cores}}}
}

// SetProcs makes room in Go's scheduler for what is not a join. Were all its
// processors at work on joins, a frame would wait for the next preemption, 10
// ms or more; with some to spare the kernel, which preempts at once for who
// slept, decides.
func SetProcs(cores int) { runtime.GOMAXPROCS(cores + max(16, 3*cores)) }

func (e *providerEngine) Name() string { return e.provider.Name() }

func (e *providerEngine) Estimate(plan *joincore.Plan) int64 {
	n := run.Estimate(plan, e.options)
	if n < 0 { // absurd estimates of rows
		return math.MaxInt64
	}
	return n
}

func (e *providerEngine) Run(ctx context.Context, plan *joincore.Plan, inputs []*joincore.Relation,
	mem joincore.Memory, sink joincore.Sink, stats *joincore.Stats) error {
	return run.Run(ctx, e.provider, plan, inputs, mem, sink, e.options, stats)
}
