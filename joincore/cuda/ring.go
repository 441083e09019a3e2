//go:build cuda

package cuda

import "gpujoin/joincore/cuda/driver"

// ring is memory for views that follow each other: while one is joined, the
// next one crosses the link into the other half. It is taken once, and no step
// uses it for anything else: a copy into a half waits for the view that had it
// before, and for nothing that was queued since.
type ring struct {
	e      *execution
	at     driver.Ptr
	bytes  int64 // of both halves
	halves [2]half
}

type half struct {
	at          driver.Ptr
	bytes, used int64
	free        *driver.Event // of the main stream: the view before has been read
	read        bool          // it has been recorded
}

// newRing takes halves of so many bytes.
func (e *execution) newRing(bytes int64) (*ring, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	bytes = lines(bytes)
	r := &ring{e: e, bytes: 2 * bytes}
	for i := range r.halves {
		event, err := e.newEvent()
		if err != nil {
			return nil, err
		}
		r.halves[i] = half{bytes: bytes, free: event}
	}
	at, err := e.alloc(r.bytes)
	if err != nil {
		return nil, err
	}
	r.at = at
	for i := range r.halves {
		r.halves[i].at = at + driver.Ptr(int64(i)*bytes)
	}
	return r, nil
}

// close gives the memory back. All views have been closed.
func (r *ring) close() { r.e.release(r.at, r.bytes) }

// take returns memory of a half for a copy on the load stream; false: there is
// too little left.
func (h *half) take(load *driver.Stream, bytes int64) (driver.Ptr, bool, error) {
	bytes = lines(bytes)
	if bytes > h.bytes-h.used {
		return 0, false, nil
	}
	if h.used == 0 && h.read {
		if err := load.Wait(h.free); err != nil {
			return 0, false, err
		}
	}
	at := h.at + driver.Ptr(h.used)
	h.used += bytes
	return at, true, nil
}

// leave is called when all that reads the half has been queued on the main
// stream.
func (h *half) leave(main *driver.Stream) error {
	h.used, h.read = 0, true
	return main.Record(h.free)
}
