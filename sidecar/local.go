package sidecar

import (
	"runtime"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/run"
	"gpujoin/sidecar/executor"
)

// NewLocal returns the backend of this process: cores cores of p, 0 for all,
// that choose by rates; nil: defaults.
func NewLocal(p device.Provider, cores int, rates *costmodel.Rates) *executor.Local {
	return executor.NewLocal(p, run.Options{Rates: rates, Device: device.Options{Streams: cores}}, processor())
}

// SetProcs makes room in Go's scheduler for what is not a join. Were all its
// processors at work on joins, a frame would wait for the next preemption, 10
// ms or more; with some to spare the kernel, which preempts at once for who
// slept, decides.
func SetProcs(cores int) { runtime.GOMAXPROCS(executor.ThreadsPerCore*cores + 16) }
