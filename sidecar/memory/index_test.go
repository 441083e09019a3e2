package memory

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"gpujoin/joincore"
	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// record watches a store and keeps what exists.
type record struct {
	mu  sync.Mutex
	now []uint64
}

func (r *record) note(id uint64, dropped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if dropped {
		r.now = slices.DeleteFunc(r.now, func(o uint64) bool { return o == id })
		return
	}
	r.now = append(r.now, id)
}

func testStore(t *testing.T, limit int64) (*Store, *Account) {
	t.Helper()
	s, err := NewStore(shm.ExtentMinSize, limit, 64)
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewBudget(limit).Reserve(t.Context(), s, 0, Claim{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Close()
		s.Close()
		if u := s.Usage(); u.Physical != 0 {
			t.Errorf("%+v", u)
		}
	})
	return s, a
}

// TestWatchAndPlace follows extents through their lives.
func TestWatchAndPlace(t *testing.T) {
	s, a := testStore(t, 16<<20)
	take := func() *Extent {
		e, err := a.Extent(false)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := take()
	w := &record{}
	stop := s.Watch(w.note)
	list := []*Extent{first, take(), take(), take()}
	for _, e := range list {
		size := len(e.Data)
		for _, c := range []struct{ from, to int }{{0, 1}, {0, size}, {size - 1, size}, {4096, 8192}} {
			if id, data := a.Place(e.Data[c.from:c.to]); id != e.ID || len(data) != size || &data[0] != &e.Data[0] {
				t.Errorf("bytes %d of extent %d: %d, %d bytes", c.from, e.ID, id, len(data))
			}
		}
		if !slices.Contains(w.now, e.ID) {
			t.Errorf("extent %d is missing in %v", e.ID, w.now)
		}
		fd, ok, err := s.Descriptor(e.ID)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		if err := shm.VerifyMemfd(fd, shm.ExtentMinSize); err != nil {
			t.Error(err)
		}
		unix.Close(fd)
	}
	if _, data := a.Place(make([]byte, 8)); data != nil {
		t.Error("memory that is no extent has a place")
	}
	for _, e := range list {
		e.Release()
	}
	s.Trim(0, 0)
	if len(w.now) != 0 {
		t.Errorf("%v are left", w.now)
	}
	if _, ok, _ := s.Descriptor(first.ID); ok {
		t.Error("a descriptor of what is gone")
	}
	if _, data := a.Place(make([]byte, 8)); data != nil {
		t.Error("an empty store has a place")
	}
	stop()
	take().Release()
	if len(w.now) != 0 {
		t.Error("told after stop")
	}
}

// TestBook: what another process maps counts as if it were mapped here.
func TestBook(t *testing.T) {
	s, a := testStore(t, 8<<20)
	e, err := a.Extent(false)
	if err != nil {
		t.Fatal(err)
	}
	e.Release() // stays warm, and makes room
	if err := a.Book(8 << 20); err != nil {
		t.Fatal(err)
	}
	if u := s.Usage(); u.Physical != 8<<20 || u.Extents != 0 {
		t.Errorf("%+v", u)
	}
	for _, n := range []int64{1, 9 << 20, -1} {
		if err := a.Book(n); !errors.Is(err, joincore.ErrBudget) {
			t.Errorf("%d more: %v", n, err)
		}
	}
	if _, err := a.Extent(true); !errors.Is(err, joincore.ErrBudget) {
		t.Error(err)
	}
	a.Unbook(8 << 20)
	if used, peak := a.Used(), a.Peak(); used != 0 || peak != 8<<20 {
		t.Errorf("%d in use, %d at most", used, peak)
	}
}
