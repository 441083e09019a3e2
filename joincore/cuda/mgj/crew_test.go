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
			c, calls := newCrew(gpus), make([]int, gpus)
			for range 50 {
				c.start(func(gpu int) { calls[gpu]++ })
			}
			c.Close()
			if !slices.Equal(calls, slices.Repeat([]int{50}, gpus)) {
				t.Errorf("%d GPUs, %d processors: %v calls", gpus, processors, calls)
			}
		}
		runtime.GOMAXPROCS(before)
	}
}
