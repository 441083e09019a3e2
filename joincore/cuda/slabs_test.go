package cuda

import (
	"errors"
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

// TestSlabsAreKept: a slab is locked behind who has it, and the next one who
// wants as much has it as it is.
func TestSlabsAreKept(t *testing.T) {
	l := &locker{gate: make(chan struct{})}
	p := testSlabs(t, l, 1<<30)
	const size = 4 << 20
	s := p.take(size)
	if s == nil || s.size() != size || spanOf(s.mem).at%hugePage != 0 || l.bytes() != 0 {
		t.Fatalf("%+v, %d bytes are locked", s, l.bytes())
	}
	s.mem[size/2] = 7 // before it is locked
	close(l.gate)
	settle(p)
	if l.bytes() != size {
		t.Errorf("%d bytes are locked", l.bytes())
	}
	p.give(s)
	if again := p.take(size); again != s {
		t.Error("another slab")
	}
	other := p.take(size)
	if other == nil || other == s {
		t.Fatal("one slab for two")
	}
	settle(p)
	p.give(other)
	p.give(s)
	if smaller := p.take(size / 2); smaller == nil || smaller.size() != size/2 {
		t.Errorf("%+v", smaller)
	} else {
		p.give(smaller)
	}
}

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
		settle(p)
		for _, s := range have {
			p.give(s)
		}
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

// TestSlabsAreBounded: above the limit nobody gets one, however many are idle.
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
	settle(p)
	p.give(a)
	p.give(b)
	if d := p.take(4 << 20); d == nil {
		t.Error("idle slabs are in the way")
	} else {
		settle(p)
		p.give(d)
	}
	p.give(c)
	if p.take(6<<20) != nil {
		t.Error("6 MiB of 5")
	}
	if l.most > 5<<20 || l.bytes() != 5<<20 {
		t.Errorf("%d bytes are locked, %d at most", l.bytes(), l.most)
	}
}

// TestIdleSlabsAreGivenBack: each when it was idle for long enough.
func TestIdleSlabsAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &locker{}
		p := testSlabs(t, l, 1<<30)
		a, b := p.take(1<<20), p.take(2<<20)
		synctest.Wait()
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
		a = p.take(1 << 20) // and anew
		synctest.Wait()
		p.give(a)
		time.Sleep(idleSlab)
		synctest.Wait()
		if n := l.bytes(); n != 0 {
			t.Errorf("%d bytes are locked", n)
		}
	})
}

// TestSlabsAreRefused: who has one goes on with it, nobody gets another one, and
// locked ones stay until they are idle for long enough.
func TestSlabsAreRefused(t *testing.T) {
	l := &locker{}
	p := testSlabs(t, l, 1<<30)
	first := p.take(1 << 20)
	settle(p)
	l.err, l.gate = errors.New("too much is locked"), make(chan struct{})
	second, third := p.take(2<<20), p.take(3<<20)
	close(l.gate)
	settle(p)
	if err := p.refusal(); err == nil || err.Error() != "too much is locked" {
		t.Fatal(err)
	}
	second.mem[0], third.mem[len(third.mem)-1] = 3, 3
	l.err = nil
	if p.take(1<<20) != nil {
		t.Error("a slab after a refusal")
	}
	for _, s := range []*slab{first, second, third} {
		p.give(s)
	}
	if len(p.kept) != 1 || p.kept[0] != first || l.bytes() != 1<<20 || l.locks != 1 {
		t.Errorf("%d idle slabs, %d bytes are locked, %d locks", len(p.kept), l.bytes(), l.locks)
	}
}

// TestSlabGoesBeforeItIsLocked: one that gives way to another while it is being
// locked is unlocked after, and one that waits for that is gone at once.
func TestSlabGoesBeforeItIsLocked(t *testing.T) {
	l := &locker{gate: make(chan struct{})}
	p := testSlabs(t, l, 1<<30)
	first, second := p.take(1<<20), p.take(1<<20)
	l.wait(1)
	p.give(first)
	p.give(second)
	third := p.take(2 << 20)
	if len(p.kept) != 0 || p.ending != 1<<20 || p.waiting() != 1 {
		t.Errorf("%d idle slabs, %d bytes about to end, %d to be locked", len(p.kept), p.ending, p.waiting())
	}
	close(l.gate)
	settle(p)
	if l.bytes() != 2<<20 || l.locks != 2 || p.ending != 0 {
		t.Errorf("%d bytes are locked, %d locks, %d bytes about to end", l.bytes(), l.locks, p.ending)
	}
	p.give(third)
}

// TestSlabsThatEndAreBounded: what is about to end counts towards the limit for as
// long as it is there, whatever comes and goes while one is being locked.
func TestSlabsThatEndAreBounded(t *testing.T) {
	const mb, limit = 1 << 20, 6 << 20
	l := &locker{gate: make(chan struct{})}
	p := testSlabs(t, l, limit)
	first := p.take(4 * mb)
	l.wait(1)
	p.give(first)
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
	settle(p)
	s := p.take(6 * mb)
	if s == nil || p.ending != 0 {
		t.Fatalf("a slab is there: %t, %d bytes about to end", s != nil, p.ending)
	}
	settle(p)
	p.give(s)
}

// TestSlabThatTheMachineLacks: nobody gets it, and it counts for nothing.
func TestSlabThatTheMachineLacks(t *testing.T) {
	l := &locker{}
	p := testSlabs(t, l, 1<<50)
	if p.take(1<<48) != nil { // more than there are addresses
		t.Fatal("a slab of 256 TiB")
	}
	if p.used != 0 || p.most != 0 || l.locks != 0 {
		t.Errorf("%d bytes in use, %d at most, %d locks", p.used, p.most, l.locks)
	}
	s := p.take(1 << 20)
	settle(p)
	p.give(s)
	if l.locks != 1 {
		t.Errorf("%d locks", l.locks)
	}
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
		settle(p)
		if l.most > min(jobs*each*largest, limit) || l.locks == 0 {
			t.Errorf("%d bytes were locked at a time, %d locks", l.most, l.locks)
		}
	}
}
