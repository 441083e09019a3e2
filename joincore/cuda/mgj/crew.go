package mgj

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// crew calls functions for several GPUs at once. To wake a goroutine takes up to 70 µs on a
// virtual machine, and to launch a kernel 4: so a crew's goroutines do not sleep between calls.
// It lasts as long as a join queues work, about a millisecond.
type crew struct {
	tasks  []atomic.Pointer[func(gpu int)] // by GPU; nil: none
	closed atomic.Bool
	ended  sync.WaitGroup
}

// newCrew starts a crew for the given number of GPUs. Close ends it.
func newCrew(gpus int) *crew {
	c := &crew{tasks: make([]atomic.Pointer[func(int)], gpus)}
	for i := range c.tasks {
		c.ended.Go(func() { c.serve(i) })
	}
	return c
}

// serve executes a GPU's tasks.
func (c *crew) serve(i int) {
	for !c.closed.Load() {
		if f := c.tasks[i].Load(); f != nil {
			(*f)(i)
			c.tasks[i].Store(nil)
			continue
		}
		runtime.Gosched()
	}
}

// start begins to call f for all GPUs, when earlier calls have ended.
func (c *crew) start(f func(gpu int)) {
	c.wait()
	for i := range c.tasks {
		c.tasks[i].Store(&f)
	}
}

// wait waits for all calls.
func (c *crew) wait() {
	for i := range c.tasks {
		for c.tasks[i].Load() != nil {
			runtime.Gosched()
		}
	}
}

// Close waits for all calls and ends the crew's goroutines.
func (c *crew) Close() {
	c.wait()
	c.closed.Store(true)
	c.ended.Wait()
}
