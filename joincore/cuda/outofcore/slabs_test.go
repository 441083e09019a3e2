package outofcore

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestSlabSizes(t *testing.T) {
	for _, n := range []int64{1, 2, 4095, 4096, 4097, 1 << 20, 1<<20 + 1, 1<<28 - 1, 1<<28 + 1, 1 << 40} {
		size := slabSize(n)
		if size < n || size%4096 != 0 || n > 1<<20 && size > n+n/16+1 || slabSize(size) != size {
			t.Errorf("%d bytes: %d", n, size)
		}
	}
}

// TestSlabsAreKept: a slab is locked when it comes back, and the next one who
// wants as much has it as it is.
func TestSlabsAreKept(t *testing.T) {
	l := &locker{}
	p := testSlabs(t, l, 1<<30)
	const size = 4 << 20
	s := p.take(size)
	if s == nil || s.size() != size || addressOf(s.mem)%hugePage != 0 {
		t.Fatalf("%+v", s)
	}
	s.mem[size/2] = 7
	p.Settle()
	if n := l.bytes(); n != 0 {
		t.Errorf("%d bytes are locked that no owner has", n)
	}
	p.give(s)
	p.Settle()
	if n := l.bytes(); n != size {
		t.Errorf("%d bytes are locked", n)
	}
	if again := p.take(size); again != s || l.bytes() != size {
		t.Errorf("another slab: %t, %d bytes are locked", again != s, l.bytes())
	}
	other := p.take(size)
	if other == nil || other == s {
		t.Fatal("one slab for two")
	}
	p.give(other)
	p.give(s)
	p.Settle()
	if l.locks != 2 || l.bytes() != 2*size {
		t.Errorf("%d locks, %d bytes are locked", l.locks, l.bytes())
	}
	if smaller := p.take(size / 2); smaller == nil || smaller.size() != size/2 {
		t.Errorf("%+v", smaller)
	} else {
		p.give(smaller)
	}
}

// TestLargerSlabsServe: who wants somewhat less than a slab has one that is locked, rather
// than a new one, and the smallest of these.
func TestLargerSlabsServe(t *testing.T) {
	l := &locker{}
	p := testSlabs(t, l, 1<<30)
	large, larger, first := p.take(5<<20), p.take(11<<19), p.take(4<<20)
	p.give(first)
	p.Settle()
	for _, s := range []*slab{larger, large} {
		p.give(s)
		p.Settle()
	}
	for _, c := range []struct {
		size int64
		want *slab
	}{{4 << 20, first}, {4 << 20, large}, {4 << 20, larger}, {3 << 20, nil}} {
		used := p.used
		s := p.take(c.size)
		if c.want == nil && s.size() != c.size || c.want != nil && s != c.want || p.used != used+s.size() {
			t.Errorf("%d bytes: a slab of %d, %d in use before and %d now", c.size, s.size(), used, p.used)
		}
		defer p.give(s)
	}
	if n := l.bytes(); n != 5<<20+11<<19+4<<20 || l.locks != 3 {
		t.Errorf("%d bytes are locked, in %d locks", n, l.locks)
	}
}

// TestJobThatMayNotHaveMore: it gets a slab of its size, though a larger one is locked.
func TestJobThatMayNotHaveMore(t *testing.T) {
	p := testSlabs(t, &locker{}, 1<<30)
	large := p.take(5 << 20)
	p.give(large)
	p.Settle()
	s := p.take(4 << 20)
	if s != large {
		t.Fatalf("a slab of %d bytes", s.size())
	}
	p.give(s)
	if s = p.takeUpTo(4<<20, 4<<20); s.size() != 4<<20 {
		t.Errorf("a slab of %d bytes", s.size())
	}
	p.give(s)
}

// TestSlabsThatAreNotLockedServeNobodyElse: a larger slab that is not locked is no better than
// a new one.
func TestSlabsThatAreNotLockedServeNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &locker{gate: make(chan struct{})}
		p := testSlabs(t, l, 1<<30)
		p.give(p.take(5 << 20))
		synctest.Wait()
		if s := p.take(4 << 20); s.size() != 4<<20 {
			t.Errorf("a slab of %d bytes", s.size())
		} else {
			p.give(s)
		}
		close(l.gate)
	})
}

// TestIdleSlabsAreGivenBack: each when it was idle for long enough.
func TestIdleSlabsAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &locker{}
		p := testSlabs(t, l, 1<<30)
		a, b := p.take(1<<20), p.take(2<<20)
		p.give(a)
		time.Sleep(idleSlab / 2)
		p.give(b)
		for _, c := range []struct {
			sleep time.Duration
			bytes int64
		}{{idleSlab/2 - 1, 3 << 20}, {2, 2 << 20}, {idleSlab/2 - 2, 2 << 20}, {1, 0}} {
			time.Sleep(c.sleep)
			synctest.Wait()
			if n := l.bytes(); n != c.bytes {
				t.Errorf("%d bytes are locked, not %d", n, c.bytes)
			}
		}
		if p.timer != nil {
			t.Error("it goes on for nothing")
		}
		p.give(p.take(1 << 20)) // and anew
		synctest.Wait()
		if n := l.bytes(); n != 1<<20 {
			t.Errorf("%d bytes are locked again", n)
		}
		time.Sleep(idleSlab)
		synctest.Wait()
		if n := l.bytes(); n != 0 {
			t.Errorf("%d bytes are locked", n)
		}
	})
}

// TestIdleSlabsAreGivenBackUnlocked: who has not been locked by then is gone, the
// one that is being locked as soon as that has ended.
func TestIdleSlabsAreGivenBackUnlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &locker{gate: make(chan struct{})}
		p := testSlabs(t, l, 1<<30)
		a, b := p.take(1<<20), p.take(2<<20)
		p.give(a)
		p.give(b)
		time.Sleep(idleSlab)
		synctest.Wait()
		if p.bytes != 0 || p.ending != 1<<20 {
			t.Errorf("%d bytes are idle, %d about to end", p.bytes, p.ending)
		}
		close(l.gate)
		synctest.Wait()
		if l.locks != 1 || l.bytes() != 0 || p.ending != 0 {
			t.Errorf("%d locks, %d bytes are locked, %d about to end", l.locks, l.bytes(), p.ending)
		}
	})
}

// TestManyJobsUseSlabs: no slab is with two jobs, and no more is locked than all
// of them had, nor than the limit, for which some get none.
func TestManyJobsUseSlabs(t *testing.T) {
	const jobs, each, largest = 4, 3, 2 << 20
	for _, limit := range []int64{1 << 30, 3 * largest} {
		l := &locker{}
		p := testSlabs(t, l, limit)
		p.idle = time.Millisecond
		var wait sync.WaitGroup
		for job := range jobs {
			wait.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(job)))
				for round := range 60 {
					var have []*slab
					for range 1 + r.IntN(each) {
						s := p.take(slabSize(1 + r.Int64N(largest)))
						if s == nil {
							if limit >= jobs*each*largest {
								t.Error("no slab")
							}
							continue
						}
						s.mem[100] = byte(job*64 + round)
						have = append(have, s)
					}
					time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
					for _, s := range have {
						if s.mem[100] != byte(job*64+round) {
							t.Error("somebody else has it, too")
						}
						p.give(s)
					}
				}
			})
		}
		wait.Wait()
		p.Settle()
		if l.most > min(jobs*each*largest, limit) || l.locks == 0 {
			t.Errorf("%d bytes were locked at a time, %d locks", l.most, l.locks)
		}
	}
}
