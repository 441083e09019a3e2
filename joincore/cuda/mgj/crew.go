package mgj

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// crew is goroutines, one for each GPU of a join, that call functions at once. To wake a
// goroutine takes up to 70 µs on a virtual machine, and to launch a kernel 4: so they do not
// sleep between calls, unless a join takes long.
type crew struct {
	tasks  []atomic.Pointer[func(gpu int)] // by GPU; nil: none
	closed atomic.Bool
	ended  sync.WaitGroup
}

// spinFor is how long a wait does not leave the processor. Most joins are shorter.
const spinFor = 20 * time.Millisecond

// newCrew starts a crew whose goroutines call work. Work calls serve, which returns when Close is
// called.
func newCrew(gpus int, work func(c *crew, gpu int)) *crew {
	c, arrive := &crew{tasks: make([]atomic.Pointer[func(int)], gpus)}, func(int) {}
	for i := range c.tasks {
		c.tasks[i].Store(&arrive)
		c.ended.Go(func() { work(c, i) })
	}
	return c
}

// serve executes a GPU's tasks.
func (c *crew) serve(gpu int) {
	for {
		var f *func(int)
		await(func() bool {
			closed := c.closed.Load() // before the task: Close leaves none
			f = c.tasks[gpu].Load()
			return f != nil || closed
		})
		if f == nil {
			return
		}
		(*f)(gpu)
		c.tasks[gpu].Store(nil)
	}
}

// start begins to call f for all GPUs, when earlier calls have ended.
func (c *crew) start(f func(gpu int)) {
	c.wait()
	for i := range c.tasks {
		c.tasks[i].Store(&f)
	}
}

// wait waits until all goroutines serve, and all calls have ended.
func (c *crew) wait() {
	for i := range c.tasks {
		await(func() bool { return c.tasks[i].Load() == nil })
	}
}

// Close waits for the calls of goroutines that serve, and until all have ended.
func (c *crew) Close() {
	c.closed.Store(true)
	c.ended.Wait()
}

// await waits until done returns true.
func await(done func() bool) {
	for start := time.Now(); !done(); {
		if time.Since(start) < spinFor {
			runtime.Gosched()
		} else {
			time.Sleep(spinFor / 1000)
		}
	}
}
