package memory

import (
	"cmp"
	"fmt"
	"slices"

	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// index finds extents by id and by address, and notifies watchers of changes.
type index struct {
	byID      map[uint64]*Extent
	byAddress []*Extent
	watchers  []*func(extent uint64, dropped bool)
}

func (x *index) add(e *Extent) {
	x.byID[e.ID] = e
	i, _ := x.search(shm.Address(e.Data))
	x.byAddress = slices.Insert(x.byAddress, i, e)
	x.tell(e, false)
}

func (x *index) remove(e *Extent) {
	delete(x.byID, e.ID)
	if i, ok := x.search(shm.Address(e.Data)); ok {
		x.byAddress = slices.Delete(x.byAddress, i, i+1)
	}
	x.tell(e, true)
}

func (x *index) tell(e *Extent, dropped bool) {
	for _, watch := range x.watchers {
		(*watch)(e.ID, dropped)
	}
}

// search returns the position of the first extent at or after address, and
// whether an extent starts exactly there.
func (x *index) search(address uintptr) (int, bool) {
	return slices.BinarySearchFunc(x.byAddress, address, func(e *Extent, a uintptr) int {
		return cmp.Compare(shm.Address(e.Data), a)
	})
}

// Watch calls watch for every existing extent, and for each one that is created or dropped
// until stop is called, in the order of events. watch must not block.
func (s *Store) Watch(watch func(extent uint64, dropped bool)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.all.byID {
		watch(id, false)
	}
	s.all.watchers = append(s.all.watchers, &watch)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all.watchers = slices.DeleteFunc(s.all.watchers, func(o *func(uint64, bool)) bool { return o == &watch })
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

// Place returns the extent of the store that contains b, and all of its bytes; nil if b is in no
// extent.
func (a *Account) Place(b []byte) (extent uint64, data []byte) {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	e := a.store.all.find(b)
	if e == nil {
		return 0, nil
	}
	return e.ID, e.Data
}

// Retain keeps the extent of the job that contains b, so that it is not reused
// before release is called, which may be after Close. release is nil if b is in
// no extent.
func (a *Account) Retain(b []byte) (release func()) {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	e := a.store.all.find(b)
	if e == nil {
		return nil
	}
	e.Retain()
	return e.Release
}

// find returns the extent that contains b, nil if b is in no extent.
func (x *index) find(b []byte) *Extent {
	at := shm.Address(b)
	i, exact := x.search(at)
	if !exact {
		i--
	}
	if i < 0 {
		return nil
	}
	e := x.byAddress[i]
	if int64(at-shm.Address(e.Data))+int64(len(b)) > int64(len(e.Data)) {
		return nil
	}
	return e
}
