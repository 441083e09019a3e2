package outofcore

import "testing"

// TestSlabsNeverExceedWhatWasGranted: what has to be mapped takes the place of
// what is idle; what two jobs had at a time may stay.
func TestSlabsNeverExceedWhatWasGranted(t *testing.T) {
	l := &locker{}
	p := testSlabs(t, l, 1<<30)
	use := func(sizes ...int64) {
		t.Helper()
		var have []*slab
		for _, size := range sizes {
			have = append(have, p.take(size))
		}
		for _, s := range have {
			p.give(s)
		}
		p.Settle()
	}
	const mb = 1 << 20
	for _, c := range []struct {
		sizes []int64
		locks int // of all so far
		bytes int64
	}{
		{[]int64{2 * mb}, 1, 2 * mb},
		{[]int64{3 * mb}, 2, 3 * mb},         // in the place of 2
		{[]int64{1 * mb}, 3, 1 * mb},         // 3 and 1 would be more than anybody had
		{[]int64{2 * mb, 3 * mb}, 5, 5 * mb}, // in the place of 1
		{[]int64{3 * mb}, 5, 5 * mb},
		{[]int64{2 * mb, 3 * mb}, 5, 5 * mb},
		{[]int64{4 * mb}, 6, 4 * mb}, // 2 and 3, the longest idle first, have to go
	} {
		use(c.sizes...)
		if l.locks != c.locks || l.bytes() != c.bytes {
			t.Errorf("%v: %d locks, %d bytes; want %d, %d", c.sizes, l.locks, l.bytes(), c.locks, c.bytes)
		}
	}
	if l.most != 5*mb {
		t.Errorf("%d bytes were locked at a time", l.most)
	}
}

// TestSlabsAreBounded: above the limit no slab is handed out, even if some are idle.
func TestSlabsAreBounded(t *testing.T) {
	l := &locker{}
	p := testSlabs(t, l, 5<<20)
	a, b := p.take(2<<20), p.take(2<<20)
	if a == nil || b == nil || p.take(2<<20) != nil {
		t.Fatal("6 MiB of 5")
	}
	c := p.take(1 << 20)
	if c == nil {
		t.Fatal("not the last one of 5 MiB")
	}
	p.give(a)
	p.give(b)
	p.Settle()
	if d := p.take(4 << 20); d == nil {
		t.Error("idle slabs are in the way")
	} else {
		p.give(d)
	}
	p.give(c)
	p.Settle()
	if p.take(6<<20) != nil {
		t.Error("6 MiB of 5")
	}
	if l.most > 5<<20 || l.bytes() != 5<<20 {
		t.Errorf("%d bytes are locked, %d at most", l.bytes(), l.most)
	}
}

// TestSlabsThatEndAreBounded: what is about to end counts towards the limit for as
// long as it is there, whatever comes and goes while one is being locked.
func TestSlabsThatEndAreBounded(t *testing.T) {
	const mb, limit = 1 << 20, 6 << 20
	l := &locker{gate: make(chan struct{})}
	p := testSlabs(t, l, limit)
	p.give(p.take(4 * mb))
	l.wait(1)
	for _, size := range []int64{2 * mb, 3 * mb / 2, 5 * mb, mb, 6 * mb} {
		s := p.take(size)
		if there := p.used + p.bytes + p.ending; there > limit {
			t.Errorf("%d bytes are there with one of %d", there, size)
		}
		// From the first one on that leaves no room for it, the 4 MiB end.
		if fits := size <= 2*mb; (s != nil) != fits {
			t.Errorf("%d bytes: a slab is there: %t", size, s != nil)
		}
		if s != nil {
			p.give(s)
		}
	}
	close(l.gate)
	p.Settle()
	s := p.take(6 * mb)
	if s == nil || p.ending != 0 {
		t.Fatalf("a slab is there: %t, %d bytes about to end", s != nil, p.ending)
	}
	p.give(s)
}

// TestSlabThatTheMachineLacks: a slab that cannot be allocated is not counted.
func TestSlabThatTheMachineLacks(t *testing.T) {
	l := &locker{}
	p := testSlabs(t, l, 1<<50)
	if p.take(1<<48) != nil { // more than there are addresses
		t.Fatal("a slab of 256 TiB")
	}
	if p.used != 0 || p.most != 0 || l.locks != 0 {
		t.Errorf("%d bytes in use, %d at most, %d locks", p.used, p.most, l.locks)
	}
	p.give(p.take(1 << 20))
	p.Settle()
	if l.locks != 1 {
		t.Errorf("%d locks", l.locks)
	}
}

// TestKept: the pool reports slabs that no job has until they are freed.
func TestKept(t *testing.T) {
	p := testSlabs(t, &locker{}, 1<<30)
	const size = 4 << 20
	first, second := p.take(size), p.take(size)
	if n := p.Kept(); n != 0 {
		t.Errorf("%d bytes are kept while jobs have all slabs", n)
	}
	p.give(first)
	if n := p.Kept(); n != size {
		t.Errorf("%d bytes are kept instead of one slab's", n)
	}
	p.give(second)
	p.Close()
	if n := p.Kept(); n != 0 {
		t.Errorf("%d bytes are kept after all slabs were freed", n)
	}
}

// TestNoSlabs: a pool with a limit below 0 has no slabs.
func TestNoSlabs(t *testing.T) {
	if s := testSlabs(t, &locker{}, -1).take(4096); s != nil {
		t.Errorf("a slab of %d bytes", s.size())
	}
}
