package outofcore

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// TestLockedSlabsComeFirst: locked slabs first, then those that wait to be
// locked, last the one that is being locked.
func TestLockedSlabsComeFirst(t *testing.T) {
	l := &locker{}
	p := testSlabs(t, l, 1<<30)
	const size = 1 << 20
	have := []*slab{p.take(size), p.take(size), p.take(size), p.take(size)}
	locked := have[0]
	p.give(locked)
	p.Settle()
	if p.take(size) != locked {
		t.Fatal("another slab")
	}
	l.gate = make(chan struct{})
	for _, c := range []struct{ give, take [4]int }{
		{[4]int{0, 1, 2, 3}, [4]int{0, 3, 2, 1}}, // 1 is being locked from then on
		{[4]int{0, 3, 2, 1}, [4]int{0, 2, 3, 1}},
	} {
		for _, i := range c.give {
			p.give(have[i])
		}
		l.wait(2)
		for n, i := range c.take {
			if s := p.take(size); s != have[i] {
				t.Errorf("given back %v, take %d: slab %d", c.give, n, slices.Index(have, s))
			}
		}
	}
	close(l.gate)
	p.Settle()
	if l.locks != 2 || l.bytes() != 2*size {
		t.Errorf("%d locks, %d bytes are locked while all are in use", l.locks, l.bytes())
	}
	for _, s := range have {
		p.give(s)
	}
	p.Settle()
	if l.locks != 4 || l.bytes() != 4*size {
		t.Errorf("%d locks, %d bytes are locked after", l.locks, l.bytes())
	}
}

// TestSlabComesBackWhileItIsLocked: it is locked once.
func TestSlabComesBackWhileItIsLocked(t *testing.T) {
	l := &locker{gate: make(chan struct{})}
	p := testSlabs(t, l, 1<<30)
	s := p.take(1 << 20)
	p.give(s)
	l.wait(1)
	if p.take(1<<20) != s {
		t.Fatal("another slab")
	}
	s.mem[1<<19] = 7
	p.give(s)
	close(l.gate)
	p.Settle()
	if len(p.kept) != 1 || l.locks != 1 || l.bytes() != 1<<20 {
		t.Errorf("%d idle slabs, %d locks, %d bytes are locked", len(p.kept), l.locks, l.bytes())
	}
}

// TestSlabsAreRefused: users keep the slabs they have and get no more. Those that are not locked end, and locked ones stay until they are idle for
// long enough.
func TestSlabsAreRefused(t *testing.T) {
	l := &locker{}
	p := testSlabs(t, l, 1<<30)
	first, second, third, fourth := p.take(1<<20), p.take(2<<20), p.take(3<<20), p.take(4<<20)
	p.give(first)
	p.Settle()
	l.err, l.gate = errors.New("too much is locked"), make(chan struct{})
	p.give(second)
	p.give(third)
	close(l.gate)
	p.Settle()
	if err := p.refusal(); err == nil || err.Error() != "too much is locked" {
		t.Fatal(err)
	}
	fourth.mem[0], fourth.mem[len(fourth.mem)-1] = 3, 3
	if p.take(1<<20) != nil {
		t.Error("a slab after a refusal")
	}
	if len(p.kept) != 1 || p.kept[0] != first || p.bytes != 1<<20 || p.used != 4<<20 || p.ending != 0 {
		t.Errorf("%d idle slabs of %d bytes, %d in use, %d about to end", len(p.kept), p.bytes, p.used, p.ending)
	}
	l.err = nil
	p.give(fourth)
	p.Settle()
	if len(p.kept) != 1 || l.bytes() != 1<<20 || l.locks != 1 || l.asked.Load() != 2 {
		t.Errorf("%d idle slabs, %d bytes are locked, %d locks of %d", len(p.kept), l.bytes(), l.locks, l.asked.Load())
	}
}

// TestSlabGoesBeforeItIsLocked: one that gives way to another while it is being
// locked is unlocked after, and one that waits for that is gone at once.
func TestSlabGoesBeforeItIsLocked(t *testing.T) {
	l := &locker{gate: make(chan struct{})}
	p := testSlabs(t, l, 1<<30)
	first, second := p.take(1<<20), p.take(1<<20)
	p.give(first)
	p.give(second)
	l.wait(1)
	third := p.take(2 << 20)
	if len(p.kept) != 0 || p.ending != 1<<20 {
		t.Errorf("%d idle slabs, %d bytes about to end", len(p.kept), p.ending)
	}
	close(l.gate)
	p.Settle()
	if l.bytes() != 0 || l.locks != 1 || p.ending != 0 {
		t.Errorf("%d bytes are locked, %d locks, %d bytes about to end", l.bytes(), l.locks, p.ending)
	}
	p.give(third)
	p.Settle()
	if l.bytes() != 2<<20 || l.locks != 2 {
		t.Errorf("%d bytes are locked, %d locks", l.bytes(), l.locks)
	}
}

// TestLockedNow: a slab that kernels read where it is is locked when a job has it, whether it is new, was being locked
// already, or is locked. The next job finds it locked.
func TestLockedNow(t *testing.T) {
	const size = 1 << 20
	l := &locker{}
	p := testSlabs(t, l, 1<<30)
	s := p.takeLocked(size)
	for range 2 {
		if err := p.lockNow(s); err != nil || l.bytes() != size || l.locks != 1 {
			t.Fatalf("%v, %d bytes in %d locks", err, l.bytes(), l.locks)
		}
	}
	p.give(s)
	p.Settle()
	if p.take(size) != s || l.locks != 1 {
		t.Errorf("another slab, or %d locks", l.locks)
	}
	p.give(s)
	l.gate = make(chan struct{})
	other := p.take(2 * size) // nothing else is idle
	p.give(other)
	l.wait(2)
	if p.take(2*size) != other {
		t.Fatal("another slab")
	}
	time.AfterFunc(10*time.Millisecond, func() { close(l.gate) })
	if err := p.lockNow(other); err != nil || l.locks != 2 || other.unlock == nil {
		t.Errorf("%v, %d locks", err, l.locks)
	}
	p.give(other)
}

// TestNotLockedNow: the job gives back what cannot be locked, which ends, and the pool provides no more.
func TestNotLockedNow(t *testing.T) {
	refused := errors.New("too much is locked")
	l := &locker{}
	p := testSlabs(t, l, 1<<30)
	locked, s := p.take(2<<20), p.take(1<<20)
	if err := p.lockNow(locked); err != nil {
		t.Fatal(err)
	}
	l.err = refused
	if err := p.lockNow(s); !errors.Is(err, refused) || !errors.Is(p.refusal(), refused) {
		t.Errorf("%v, %v", err, p.refusal())
	}
	p.give(s)
	if p.used != 2<<20 || p.bytes != 0 || p.take(1<<20) != nil || p.takeLocked(1<<20) != nil {
		t.Errorf("%d bytes in use, %d idle", p.used, p.bytes)
	}
	if err := p.lockNow(locked); err == nil {
		t.Error("the pool goes on")
	}
	p.give(locked)
}
