//go:build cuda

package cuda

import (
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/outofcore"
)

// ring is memory for consecutive views: while one view is joined, the next ones
// are uploaded into the other slots. No step uses the memory for anything else,
// so a copy into a slot waits only for the view that used the slot before.
type ring struct {
	e     *execution
	at    driver.Ptr
	bytes int64 // of all slots
	slots []slot
}

type slot struct {
	at          driver.Ptr
	bytes, used int64
	free        *driver.Event // of the main stream: the view before has been read
	read        bool          // it has been recorded
}

// newRing allocates a ring with n slots of the given size.
func (e *execution) newRing(n int, bytes int64) (*ring, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	bytes = driver.Lines(bytes)
	r := &ring{e: e, bytes: int64(n) * bytes, slots: make([]slot, n)}
	for i := range r.slots {
		event, err := e.newEvent()
		if err != nil {
			return nil, err
		}
		r.slots[i] = slot{bytes: bytes, free: event}
	}
	at, err := e.alloc(r.bytes)
	if err != nil {
		return nil, err
	}
	r.at = at
	for i := range r.slots {
		r.slots[i].at = at + driver.Ptr(int64(i)*bytes)
	}
	return r, nil
}

// Use makes a view take its memory from a slot as long as that has enough.
func (r *ring) Use(slot int, v outofcore.View) { v.(*view).slot = &r.slots[slot] }

// Close frees the memory. All views must have been closed.
func (r *ring) Close() { r.e.release(r.at, r.bytes) }

// take returns memory of a slot for a copy on the load stream, or false if too
// little is left.
func (s *slot) take(load *driver.Stream, bytes int64) (driver.Ptr, bool, error) {
	bytes = driver.Lines(bytes)
	if bytes > s.bytes-s.used {
		return 0, false, nil
	}
	if s.used == 0 && s.read {
		if err := load.Wait(s.free); err != nil {
			return 0, false, err
		}
	}
	at := s.at + driver.Ptr(s.used)
	s.used += bytes
	return at, true, nil
}

// leave must be called when all reads of the slot have been queued on the main
// stream.
func (s *slot) leave(main *driver.Stream) error {
	s.used, s.read = 0, true
	return main.Record(s.free)
}
