package device

import "sync"

// Readers are executions on several devices that read each other's memory, each for as long as it
// runs. None waits for another one to end its reads: that one may wait for a consumer of its rows,
// which may want rows of the first one. So memory is not given back when an execution ends, but
// when all of them have ended. The zero value has no readers.
type Readers struct {
	mu      sync.Mutex
	reading int
	after   []func()
}

// Begin says that some executions begin to read. Each of them calls End once.
func (r *Readers) Begin(executions int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reading += executions
}

// End says that an execution has ended, and reads no memory of the others any more. f gives its own
// memory back: it is called when all executions have ended, on any of their goroutines; at once if
// they never began to read.
func (r *Readers) End(f func()) {
	for _, f := range r.end(f) {
		f()
	}
}

// end returns what is to be called now.
func (r *Readers) end(f func()) (now []func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading == 0 {
		return []func(){f}
	}
	r.after = append(r.after, f)
	if r.reading--; r.reading > 0 {
		return nil
	}
	now, r.after = r.after, nil
	return now
}
