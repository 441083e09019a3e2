package cpu

import (
	"math/rand/v2"
	"testing"
)

// TestDealer: workers that ask in any order get each task once, and mostly the one after
// their last.
func TestDealer(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, tasks := range []int{0, 1, 2, 7, 128} {
		for _, workers := range []int{1, 2, 16} {
			d := dealer{taken: make([]bool, tasks)}
			last, done := make([]int, workers), make([]int, tasks)
			for w := range last {
				last[w] = -2
			}
			begun := 0
			for left := tasks; left > 0; left-- {
				w := random.IntN(workers)
				task, ok := d.next(last[w])
				if !ok {
					t.Fatalf("%d tasks, %d workers: none for worker %d, but %d are left", tasks, workers, w, left)
				}
				if task != last[w]+1 {
					begun++
				}
				done[task]++
				last[w] = task
			}
			if task, ok := d.next(last[0]); ok {
				t.Errorf("%d tasks, %d workers: task %d after the last one", tasks, workers, task)
			}
			for task, n := range done {
				if n != 1 {
					t.Errorf("%d tasks, %d workers: task %d was dealt %d times", tasks, workers, task, n)
				}
			}
			if workers == 1 && begun > 1 || begun > 4*workers {
				t.Errorf("%d tasks, %d workers: %d runs", tasks, workers, begun)
			}
		}
	}
}
