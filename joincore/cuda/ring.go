//go:build cuda

package cuda

import (
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/outofcore"
)

// ring is memory for consecutive views: while one view is joined, the next one
// is uploaded into the other half. No step uses the memory for anything else,
// so a copy into a half waits only for the view that used the half before.
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

// newRing allocates a ring with halves of the given size.
func (e *execution) newRing(bytes int64) (*ring, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	bytes = driver.Lines(bytes)
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

// Use makes a view take its memory from a half as long as that has enough.
func (r *ring) Use(half int, v outofcore.View) { v.(*view).half = &r.halves[half] }

// Close frees the memory. All views must have been closed.
func (r *ring) Close() { r.e.release(r.at, r.bytes) }

// take returns memory of a half for a copy on the load stream, or false if too
// little is left.
func (h *half) take(load *driver.Stream, bytes int64) (driver.Ptr, bool, error) {
	bytes = driver.Lines(bytes)
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

// leave must be called when all reads of the half have been queued on the main
// stream.
func (h *half) leave(main *driver.Stream) error {
	h.used, h.read = 0, true
	return main.Record(h.free)
}
