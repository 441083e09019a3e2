package sidecar

import (
	"fmt"
	"runtime"
	"sync"

	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// pulse writes the daemon's load into its status file every shm.BeatMS
// milliseconds. Planners read from it how busy the daemon is, and waiting
// backends whether the daemon gets processor time.
//
// The pulse has a thread of its own with the highest priority that the daemon
// may give it, so it is the last of the daemon's threads to be starved. Before
// each write it takes the locks that answering a backend needs. If one of these
// locks is stuck, the pulse stops, and backends notice.
type pulse struct {
	read, write int // a pipe, closed to stop
	done        sync.WaitGroup
}

// startPulse writes the load at once and then periodically until stop. It calls
// load on its own thread, except for the first time, and reports the first later
// error to failed.
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
		// The goroutine never unlocks its thread, so the thread ends with it and
		// no other goroutine inherits the priority.
		runtime.LockOSThread()
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20) // ignored if it is not permitted
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

// wait waits until the next write is due and reports whether the pulse was
// stopped instead. It waits in the kernel, because a Go timer would depend on
// Go's scheduler, which may be busy.
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
