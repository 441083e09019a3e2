package mgj

import (
	"runtime"
	"slices"
	"testing"
)

// Each call is made once for each GPU, also with fewer processors than GPUs.
func TestCrew(t *testing.T) {
	for _, processors := range []int{1, 2, runtime.GOMAXPROCS(0)} {
		before := runtime.GOMAXPROCS(processors)
		for gpus := 1; gpus <= 9; gpus++ {
			c, calls := newCrew(gpus, (*crew).serve), make([]int, gpus)
			for range 50 {
				c.start(func(gpu int) { calls[gpu]++ })
			}
			c.wait()
			c.Close()
			if !slices.Equal(calls, slices.Repeat([]int{50}, gpus)) {
				t.Errorf("%d GPUs, %d processors: %v calls", gpus, processors, calls)
			}
		}
		runtime.GOMAXPROCS(before)
	}
}

// A crew ends also if a goroutine never serves, and a call that has begun ends before.
func TestCrewOfOne(t *testing.T) {
	called := false
	c := newCrew(2, func(c *crew, gpu int) {
		if gpu == 0 {
			c.serve(gpu)
		}
	})
	call := func(int) { called = true }
	for !c.tasks[0].CompareAndSwap(nil, &call) {
		runtime.Gosched()
	}
	c.Close()
	if !called {
		t.Error("a call was lost")
	}
}
