package mirror

import (
	"errors"
	"testing"
)

// TestHold: a pin that holds a table goes on seeing its rows when the mirror has failed, and
// tells whether another pin sees the same ones.
func TestHold(t *testing.T) {
	memory := &heap{size: testExtent}
	m := ready(t, memory, recordsOf(0, 9000, 0)...)
	join(t, m.s, 2, 0, recordsOf(0, 5, 0)...)
	m.changes(insertOf(1, rec(9000, 0)))
	first := m.s.Pin()
	held, err := first.Hold("public", "t1")
	if err != nil || held.Table != 1 || len(held.All) != 3 || held.Rows != 9001 || !held.Whole {
		t.Fatalf("%+v, %v", held, err)
	}
	m.changes(insertOf(2, rec(5, 0)))
	second := m.s.Pin()
	if got, err := second.Hold("public", "t1"); err != nil || got.Last != held.Last {
		t.Errorf("%+v after a change of another table, %v", got, err)
	}
	m.changes(deleteOf(1, 7))
	third := m.s.Pin()
	if got, err := third.Hold("public", "t1"); err != nil || got.Last == held.Last || !got.Whole || got.Rows != 9000 {
		t.Errorf("%+v after a change, %v", got, err)
	}
	if got, err := second.Hold("public", "t2"); err != nil || !got.Whole {
		t.Errorf("%+v, %v", got, err)
	}
	late := m.s.Pin()
	m.changes(insertOf(1, rec(9100, 0)))
	if got, err := late.Hold("public", "t1"); err != nil || got.Whole {
		t.Errorf("%+v of a pin before the last change, %v", got, err)
	}
	if status := m.s.Tables(func(uint64) int64 { return 7 }); status[0].Device == 0 || status[0].Device%7 != 0 || status[1].Device != 0 || status[0].Dead != 1 {
		t.Errorf("%+v", status)
	}
	m.s.Fail(1, errors.New("a test"))
	wantRows(t, first, 1, recordsOf(0, 9001, 0)...)
	if _, err := first.Hold("public", "t1"); err != nil {
		t.Error(err)
	}
	if _, err := m.s.Pin().Hold("public", "t1"); !errors.Is(err, ErrNotReady) {
		t.Errorf("error %v of a mirror that has failed", err)
	}
	if _, err := first.Hold("public", "none"); !errors.Is(err, ErrNotReady) {
		t.Errorf("error %v of a table that is not known", err)
	}
	for _, p := range []*Pin{first, second, third, late} {
		p.Close()
	}
	if _, err := first.Hold("public", "t2"); !errors.Is(err, ErrNotReady) {
		t.Errorf("error %v of a pin that is closed", err)
	}
	m.s.Reset(errors.New("the end"))
	if memory.live != 0 {
		t.Errorf("%d extents are left", memory.live)
	}
}

// TestHeld: servers that share a limit have no more memory than it together.
func TestHeld(t *testing.T) {
	memory := &heap{size: testExtent}
	var others int64
	s := New(memory, Options{Limit: 8 * testExtent, Held: func() int64 { return others }})
	join(t, s, 1, 0, recordsOf(0, 10, 0)...)
	others = 8 * testExtent
	l, err := s.Begin(testTable(2))
	if err != nil {
		t.Fatal(err)
	}
	n, columns := batchOf(recordsOf(0, 5000, 0)...)
	if err := l.Batch(n, columns); !errors.Is(err, ErrMemory) {
		t.Errorf("error %v", err)
	}
}
