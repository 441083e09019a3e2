package sidecar

import (
	"runtime"

	"gpujoin/joincore/choose"
	"gpujoin/joincore/device"
	"gpujoin/joincore/run"
	"gpujoin/sidecar/backend"
)

// NewLocal returns the backend of this process: cores cores of p, 0 for all,
// that choose by rates; nil: defaults.
func NewLocal(p device.Provider, cores int, rates *choose.Rates) *backend.Local {
	return backend.NewLocal(p, run.Options{Rates: rates, Device: device.Options{Streams: cores}}, processor())
}

// SetProcs makes room in Go's scheduler for what is not a join. Were all its
// processors at work on joins, a frame would wait for the next preemption, 10
// ms or more; with some to spare the kernel, which preempts at once for who
// slept, decides.
func SetProcs(cores int) { runtime.GOMAXPROCS(backend.ThreadsPerCore*cores + 16) }
