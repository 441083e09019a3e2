//go:build amd64 || arm64

package cpu

import "sync"

// dealer deals numbered tasks to workers so that each gets runs of consecutive ones: where a
// worker goes on with the next number, it keeps what it has in buffers.
type dealer struct {
	lock  sync.Mutex
	taken []bool
}

// next returns the task of a worker whose last one was last; -2: it had none. A worker
// that cannot go on begins a run in the middle of the longest gap, since another one
// works towards its beginning.
func (r *dealer) next(last int) (task int, ok bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	task = last + 1
	if last < 0 || task == len(r.taken) || r.taken[task] {
		task, ok = r.begin()
		if !ok {
			return 0, false
		}
	}
	r.taken[task] = true
	return task, true
}

// begin returns where a new run begins.
func (r *dealer) begin() (task int, ok bool) {
	longest, from := 0, 0
	for i, taken := range r.taken {
		if taken {
			from = i + 1
			continue
		}
		if n := i + 1 - from; n > longest {
			longest, task = n, from
		}
	}
	if task > 0 {
		task += longest / 2
	}
	return task, longest > 0
}
