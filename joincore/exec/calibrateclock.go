package exec

import (
	"syscall"
	"time"
)

// stopwatch measures how much of the cores' time the process got. costmodel.Rates
// measured while other processes run must not make the machine look slow.
type stopwatch struct {
	start time.Time
	used  time.Duration
}

func startWatch() stopwatch { return stopwatch{start: time.Now(), used: processorTime()} }

// spent returns the processor time that the process had since the start, and
// the time of all cores, which is the same on an idle machine and for work that
// keeps every core busy.
func (s stopwatch) spent(cores int) (had, asked time.Duration) {
	return processorTime() - s.used, time.Since(s.start) * time.Duration(cores)
}

// shareOf returns the part of the time asked for that was had, at most 1.
func shareOf(had, asked time.Duration) float64 {
	if asked <= 0 {
		return 1
	}
	return min(1, float64(had)/float64(asked))
}

// processorTime returns what all threads of the process have used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
