package choose

import (
	"syscall"
	"time"
)

// stopwatch tells how much of a stretch of time the process really had the
// cores for: rates that are measured while others use the machine, too, must
// not say that the machine is slow.
type stopwatch struct {
	start time.Time
	used  time.Duration
}

func startWatch() stopwatch { return stopwatch{start: time.Now(), used: processorTime()} }

// share returns the part of the time of all cores that the process used since
// the start: 1 on an idle machine and for work that keeps every core busy.
func (s stopwatch) share(cores int) float64 {
	wall := time.Since(s.start) * time.Duration(cores)
	if wall <= 0 {
		return 1
	}
	return min(1, float64(processorTime()-s.used)/float64(wall))
}

// processorTime returns what all threads of the process have used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
