package cpu

import "sync"

// dealer deals numbered tasks to workers so that each gets runs of consecutive ones: where a
// worker goes on with the next number, it keeps what it has in buffers.
type dealer struct {
	lock  sync.Mutex
	taken []bool
}

// next returns the next task of a worker, and whether there is one. last is its last task,
// or -2 if it had none. A worker that cannot go on begins a run in the middle of the
// longest gap, since another one works towards its beginning.
func (d *dealer) next(last int) (task int, ok bool) {
	d.lock.Lock()
	defer d.lock.Unlock()
	task = last + 1
	if last < 0 || task == len(d.taken) || d.taken[task] {
		task, ok = d.begin()
		if !ok {
			return 0, false
		}
	}
	d.taken[task] = true
	return task, true
}

// begin returns where a new run begins.
func (d *dealer) begin() (task int, ok bool) {
	longest, from := 0, 0
	for i, taken := range d.taken {
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
