package sidecar

import (
	"fmt"
	"runtime"
	"sync"

	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// pulse writes the daemon's load into its status file every shm.BeatMS, so
// that planners see how busy it is, and backends that wait for it whether it
// gets processor time.
//
// It has a thread of its own, with the highest priority that the daemon may
// give it: among the daemon's threads it is the last one to be starved. Each
// beat takes the locks that answering needs, so that a daemon in which these
// are stuck has no pulse.
type pulse struct {
	read, write int // a pipe, closed to stop
	done        sync.WaitGroup
}

// startPulse beats at once and until stop. Later calls of load are the pulse's
// thread's; failed is told the first error of those.
func startPulse(status *statusFile, load func() shm.Load, failed func(error)) (*pulse, error) {
	if err := status.beat(load()); err != nil {
		return nil, fmt.Errorf("pulse: %w", err)
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("pulse: %w", err)
	}
	p := &pulse{read: ends[0], write: ends[1]}
	p.done.Go(func() {
		// The thread ends with the goroutine, which never unlocks it: no
		// other one is to inherit its priority.
		runtime.LockOSThread()
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20) // where that is permitted
		said := false
		for !p.wait() {
			if err := status.beat(load()); err != nil && !said {
				failed(err)
				said = true
			}
		}
	})
	return p, nil
}

// wait waits for the next beat, in the kernel rather than for a timer of Go's,
// whose scheduler may be busy. It says whether there is none.
func (p *pulse) wait() (stopped bool) {
	fds := []unix.PollFd{{Fd: int32(p.read), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, shm.BeatMS)
	return n > 0 && err == nil
}

func (p *pulse) stop() {
	unix.Close(p.write)
	p.done.Wait()
	unix.Close(p.read)
}
