package cpu_test

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// simulatedCores are device.Turns that run the workers of an execution one at a
// time, always the one that has used the least processor time since its phase
// began, as if each had a core of its own. Processor time that is spent in no
// turn counts as serial. The result does not depend on the number of real
// cores, but the caches and the memory bandwidth are those of one.
//
// A phase begins with the first turn of a new worker when no other one has a
// turn or waits for one. A worker that gives up its turn to wait for the sink,
// and comes back, continues its phase.
type simulatedCores struct {
	mu       sync.Mutex
	workers  map[int]*simulatedWorker // of this phase, by thread
	waiting  []*simulatedWorker
	running  *simulatedWorker
	busy     time.Duration // of all workers of past phases
	critical time.Duration // the longest worker of each past phase
}

type simulatedWorker struct {
	wake  chan struct{}
	used  time.Duration // processor time in turns
	since time.Duration // of its thread, when its turn was last accounted for
}

// quantum is how far a worker may get ahead of others. Switching more often would
// cost more than the error, because all workers share one core's caches.
const quantum = 2 * time.Millisecond

// Enter binds the goroutine to its thread, for good: the thread's clock is the
// worker's, and its number tells workers apart.
func (c *simulatedCores) Enter(context.Context) {
	runtime.LockOSThread()
	c.mu.Lock()
	w := c.workers[unix.Gettid()]
	if w == nil {
		if c.running == nil && len(c.waiting) == 0 {
			c.endPhase()
		}
		w = &simulatedWorker{wake: make(chan struct{}, 1)}
		c.workers[unix.Gettid()] = w
	}
	c.waiting = append(c.waiting, w)
	c.next()
	c.mu.Unlock()
	w.begin()
}

func (c *simulatedCores) Yield(context.Context) {
	c.mu.Lock()
	w := c.running
	w.account()
	if least := c.least(); least < 0 || c.waiting[least].used+quantum > w.used {
		c.mu.Unlock()
		return
	}
	c.running = nil
	c.waiting = append(c.waiting, w)
	c.next()
	c.mu.Unlock()
	w.begin()
}

func (c *simulatedCores) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running.account()
	c.running = nil
	c.next()
}

// begin waits for the turn of a worker.
func (w *simulatedWorker) begin() {
	<-w.wake
	w.since = processorTime(unix.CLOCK_THREAD_CPUTIME_ID)
}

func (w *simulatedWorker) account() {
	now := processorTime(unix.CLOCK_THREAD_CPUTIME_ID)
	w.used += now - w.since
	w.since = now
}

// next gives the turn to the worker that has used the least time.
func (c *simulatedCores) next() {
	i := c.least()
	if c.running != nil || i < 0 {
		return
	}
	c.running = c.waiting[i]
	c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
	c.running.wake <- struct{}{}
}

// least returns the waiting worker that has used the least time, -1: none waits.
func (c *simulatedCores) least() int {
	least := -1
	for i, w := range c.waiting {
		if least < 0 || w.used < c.waiting[least].used {
			least = i
		}
	}
	return least
}

func (c *simulatedCores) endPhase() {
	longest := time.Duration(0)
	for _, w := range c.workers {
		c.busy += w.used
		longest = max(longest, w.used)
	}
	c.critical += longest
	c.workers = map[int]*simulatedWorker{}
}

// measure returns the processor time that f takes, and the critical path: what
// is serial, and the longest worker of each phase.
func (c *simulatedCores) measure(f func()) (cpu, critical time.Duration) {
	c.workers, c.busy, c.critical = map[int]*simulatedWorker{}, 0, 0
	before := processorTime(unix.CLOCK_PROCESS_CPUTIME_ID)
	f()
	cpu = processorTime(unix.CLOCK_PROCESS_CPUTIME_ID) - before
	c.endPhase()
	return cpu, cpu - c.busy + c.critical
}

func processorTime(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
