package sidecar

import (
	"runtime"

	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/sidecar/executor"
)

// NewLocal returns the executor that runs joins in this process on provider p.
// It uses the given number of cores, 0 for all, and selects the algorithms of
// each join by the rates at its start; nil means default rates.
func NewLocal(p device.Provider, cores int, rates *Rates) *executor.Local {
	options := func() exec.Options {
		o := exec.Options{Device: device.Options{Streams: cores}}
		if rates != nil {
			o.Rates = rates.Now()
		}
		return o
	}
	return executor.NewLocal(p, options, processor())
}

// SetProcs sets GOMAXPROCS to the join threads of the given number of cores
// plus a reserve for other work. Without the reserve, joins could occupy all of
// Go's processors and a frame would wait for the next preemption, 10 ms or
// more. With it, the kernel schedules the threads, and it favours threads that
// have just slept.
func SetProcs(cores int) { runtime.GOMAXPROCS(executor.ThreadsPerCore*cores + 16) }
