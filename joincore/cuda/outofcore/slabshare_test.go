package outofcore

import (
	"errors"
	"testing"
)

// TestDevicesShareSlabs: a slab that one device's join has left locked serves a join of
// another device, also after the first one has closed; the last one to close frees it.
func TestDevicesShareSlabs(t *testing.T) {
	l, freed := &locker{}, 0
	var shared sharedPool
	open := func() *Pool {
		t.Helper()
		p, err := shared.open(func() (*Pool, func(), error) {
			return NewPool(l.lock, 1<<30), func() { freed++ }, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const size = 1 << 20
	for round := 1; round <= 2; round++ {
		a, b := open(), open()
		first := []*slab{a.take(size), a.take(size)}
		for _, s := range first {
			a.give(s)
		}
		a.Settle()
		one, other := a.take(size), b.take(size)
		if one == other || one.unlock == nil || other.unlock == nil {
			t.Fatalf("round %d: the same slab: %t, locked: %t and %t", round, one == other, one.unlock != nil, other.unlock != nil)
		}
		a.give(one)
		shared.close()
		if freed != round-1 || l.bytes() != 2*size {
			t.Fatalf("round %d: freed %d times, %d bytes are locked while a device is open", round, freed, l.bytes())
		}
		if again := b.take(size); again != one {
			t.Errorf("round %d: another slab", round)
		}
		b.give(one)
		b.give(other)
		shared.close()
		if freed != round || l.bytes() != 0 {
			t.Errorf("round %d: freed %d times, %d bytes are locked after all", round, freed, l.bytes())
		}
	}
}

// TestSharedSlabsThatCannotBeMade: an error leaves nothing behind, and the next device tries
// again.
func TestSharedSlabsThatCannotBeMade(t *testing.T) {
	var shared sharedPool
	failed := errors.New("no context")
	if _, err := shared.open(func() (*Pool, func(), error) { return nil, nil, failed }); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	l := &locker{}
	p, err := shared.open(func() (*Pool, func(), error) { return NewPool(l.lock, 1<<20), func() {}, nil })
	if err != nil || p == nil {
		t.Fatal(err)
	}
	shared.close()
}
