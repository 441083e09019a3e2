package memory

import (
	"cmp"
	"fmt"
	"slices"

	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// Watcher is notified of extents as they are created and dropped, so that they
// can be shared with another process. Its methods are called in the order of
// events and must not block.
type Watcher interface {
	Added(extent uint64)
	Dropped(extent uint64)
}

// index finds extents by id and by address, and notifies watchers of changes.
type index struct {
	byID      map[uint64]*Extent
	byAddress []*Extent
	watchers  []Watcher
}

func (x *index) add(e *Extent) {
	if x.byID == nil {
		x.byID = map[uint64]*Extent{}
	}
	x.byID[e.ID] = e
	i, _ := x.search(shm.Address(e.Data))
	x.byAddress = slices.Insert(x.byAddress, i, e)
	for _, w := range x.watchers {
		w.Added(e.ID)
	}
}

func (x *index) remove(e *Extent) {
	delete(x.byID, e.ID)
	if i, ok := x.search(shm.Address(e.Data)); ok {
		x.byAddress = slices.Delete(x.byAddress, i, i+1)
	}
	for _, w := range x.watchers {
		w.Dropped(e.ID)
	}
}

// search returns the position of the first extent at or after address, and
// whether an extent starts exactly there.
func (x *index) search(address uintptr) (int, bool) {
	return slices.BinarySearchFunc(x.byAddress, address, func(e *Extent, a uintptr) int {
		return cmp.Compare(shm.Address(e.Data), a)
	})
}

// Watch notifies w of every existing extent and of all later changes, until
// stop is called.
func (s *Store) Watch(w Watcher) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.all.byID {
		w.Added(id)
	}
	s.all.watchers = append(s.all.watchers, w)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all.watchers = slices.DeleteFunc(s.all.watchers, func(o Watcher) bool { return o == w })
	}
}

// Descriptor returns a new file descriptor for an extent, which the caller must
// close; ok is false if the extent no longer exists.
func (s *Store) Descriptor(extent uint64) (fd int, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.all.byID[extent]
	if e == nil {
		return -1, false, nil
	}
	fd, err = unix.FcntlInt(uintptr(e.FD), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, false, fmt.Errorf("dup: %w", err)
	}
	return fd, true, nil
}

// Place returns the extent that contains b and b's offset in it, in bytes; ok
// is false if b is in no extent.
func (s *Store) Place(b []byte) (extent uint64, offset int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, offset := s.all.find(b)
	if e == nil {
		return 0, 0, false
	}
	return e.ID, offset, true
}

// retain adds a reference to the extent that contains b, which must have one
// already, and returns the extent; nil if b is in no extent.
func (s *Store) retain(b []byte) *Extent {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, _ := s.all.find(b)
	if e != nil {
		e.Retain()
	}
	return e
}

// find returns the extent that contains b and b's offset in it, in bytes; nil
// if b is in no extent.
func (x *index) find(b []byte) (e *Extent, offset int64) {
	at := shm.Address(b)
	i, exact := x.search(at)
	if !exact {
		i--
	}
	if i < 0 {
		return nil, 0
	}
	e = x.byAddress[i]
	offset = int64(at - shm.Address(e.Data))
	if offset+int64(len(b)) > int64(len(e.Data)) {
		return nil, 0
	}
	return e, offset
}
