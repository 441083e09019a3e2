package sidecar

import (
	"runtime"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/run"
	"gpujoin/sidecar/executor"
)

// NewLocal returns the executor that runs joins in this process on provider p.
// It uses the given number of cores, 0 for all, and selects algorithms by
// rates; nil means default rates.
func NewLocal(p device.Provider, cores int, rates *costmodel.Rates) *executor.Local {
	return executor.NewLocal(p, run.Options{Rates: rates, Device: device.Options{Streams: cores}}, processor())
}

// SetProcs sets GOMAXPROCS to the join threads of the given number of cores
// plus a reserve for other work. Without the reserve, joins could occupy all of
// Go's processors and a frame would wait for the next preemption, 10 ms or
// more. With it, the kernel schedules the threads, and it favours threads that
// have just slept.
func SetProcs(cores int) { runtime.GOMAXPROCS(executor.ThreadsPerCore*cores + 16) }
