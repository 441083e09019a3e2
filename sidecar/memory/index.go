package memory

import (
	"cmp"
	"fmt"
	"slices"

	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// Watcher learns which extents exist, to give them to another process. Its
// methods are called in the order of events and must not wait.
type Watcher interface {
	Added(extent uint64)
	Dropped(extent uint64)
}

// index finds extents by number and by address, and tells watchers of changes.
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

// search returns the position of the first extent at address or behind it, and
// whether one starts there.
func (x *index) search(address uintptr) (int, bool) {
	return slices.BinarySearchFunc(x.byAddress, address, func(e *Extent, a uintptr) int {
		return cmp.Compare(shm.Address(e.Data), a)
	})
}

// Watch tells w of every extent that exists and of all that come and go, until
// stop.
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

// Descriptor returns a descriptor of an extent, the caller's to close, or
// false where the extent exists no more.
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

// Place returns in which extent b lies, and from which byte on.
func (s *Store) Place(b []byte) (extent uint64, offset int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := shm.Address(b)
	i, exact := s.all.search(at)
	if !exact {
		i--
	}
	if i < 0 {
		return 0, 0, false
	}
	e := s.all.byAddress[i]
	offset = int64(at - shm.Address(e.Data))
	return e.ID, offset, offset+int64(len(b)) <= int64(len(e.Data))
}
