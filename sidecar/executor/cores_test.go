package executor

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// worker is a goroutine that has a turn, as a test follows it.
type worker struct {
	inside atomic.Bool
	leave  chan struct{}
}

// enter starts a goroutine of s, which yields whenever the clock has moved.
func enter(ctx context.Context, s *Share) *worker {
	w := &worker{leave: make(chan struct{})}
	go func() {
		s.Enter(ctx)
		for {
			w.inside.Store(true)
			select {
			case <-w.leave:
				w.inside.Store(false)
				s.Leave()
				return
			case <-time.After(time.Millisecond):
			}
			w.inside.Store(false)
			s.Yield(ctx)
		}
	}()
	return w
}

func count(workers ...*worker) (n int) {
	for _, w := range workers {
		if w.inside.Load() {
			n++
		}
	}
	return n
}

// after lets time pass, and all goroutines come to where they wait.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func end(workers ...*worker) {
	for _, w := range workers {
		close(w.leave)
	}
	synctest.Wait()
}

// One join has all cores, and no more than that.
func TestCoresOneJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCores(3)
		s := c.Join()
		var w []*worker
		for range 5 {
			w = append(w, enter(t.Context(), s))
		}
		after(time.Second)
		if n := count(w...); n != 3 {
			t.Errorf("%d of 3 cores are at work", n)
		}
		if joins, turns := c.Load(); joins != 1 || turns != 3 {
			t.Errorf("%d joins, %d turns", joins, turns)
		}
		end(w...)
		s.Close()
		if len(c.shares) != 0 || c.inside != 0 || c.waiting.Load() != 0 {
			t.Errorf("afterwards: %+v", c)
		}
	})
}

// A small join does not wait for a large one.
func TestCoresSmallFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCores(2)
		large := c.Join()
		defer large.Close()
		l := []*worker{enter(t.Context(), large), enter(t.Context(), large)}
		after(10 * time.Second)
		small := c.Join()
		defer small.Close()
		s := []*worker{enter(t.Context(), small), enter(t.Context(), small)}
		after(3 * quantum)
		if count(s...) != 2 || count(l...) != 0 {
			t.Errorf("the small join has %d turns, the large one %d", count(s...), count(l...))
		}
		end(s...)
		after(quantum)
		if count(l...) != 2 {
			t.Errorf("after the small join the large one has %d turns", count(l...))
		}
		end(l...)
	})
}

// Joins of one level end one after the other, and not all at once.
func TestCoresInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCores(1)
		var mu sync.Mutex
		var ended []int
		var all sync.WaitGroup
		for i := range ThreadsPerCore + 3 { // more than there are turns
			s := c.Join()
			all.Go(func() {
				defer s.Close()
				s.Enter(t.Context())
				for range 15 {
					time.Sleep(time.Millisecond)
					s.Yield(t.Context())
				}
				mu.Lock()
				ended = append(ended, i)
				mu.Unlock()
				s.Leave()
			})
			synctest.Wait()
		}
		all.Wait()
		for i, n := range ended {
			if (i < ThreadsPerCore) != (n < ThreadsPerCore) {
				t.Errorf("the joins ended in the order %v", ended)
				break
			}
		}
	})
}

// More joins than cores have a turn each, up to a limit.
func TestCoresManyJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCores(2)
		var w []*worker
		for n := 1; n <= 20; n++ {
			s := c.Join()
			defer s.Close()
			w = append(w, enter(t.Context(), s), enter(t.Context(), s))
			after(time.Second)
			want := max(2, min(n, 2*ThreadsPerCore))
			if got := count(w...); got != want {
				t.Errorf("%d joins have %d turns, and not %d", n, got, want)
			}
		}
		end(w...)
	})
}

// A large join goes on while small ones come without end.
func TestCoresNobodyStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCores(1)
		large := c.Join()
		defer large.Close()
		l := enter(t.Context(), large)
		after(10 * time.Second)
		var stop atomic.Bool
		var small sync.WaitGroup
		for range 2 * ThreadsPerCore {
			small.Go(func() {
				for !stop.Load() {
					s := c.Join()
					s.Enter(t.Context())
					for range 5 {
						time.Sleep(time.Millisecond)
						s.Yield(t.Context())
					}
					s.Leave()
					s.Close()
				}
			})
		}
		waited, longest := time.Duration(0), time.Duration(0)
		for range 5000 {
			after(time.Millisecond)
			if waited += time.Millisecond; l.inside.Load() {
				waited = 0
			}
			longest = max(longest, waited)
		}
		if longest > agedAfter+5*quantum || longest < agedAfter/2 {
			t.Errorf("the large join waited %v for small ones", longest)
		}
		stop.Store(true)
		small.Wait()
		end(l)
	})
}

// Who is cancelled does not wait, and what it was given is not lost.
func TestCoresCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCores(1)
		s := c.Join()
		defer s.Close()
		first := enter(t.Context(), s)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		second := enter(ctx, s)
		synctest.Wait()
		if second.inside.Load() {
			t.Error("two turns on one core")
		}
		cancel()
		synctest.Wait()
		if !second.inside.Load() {
			t.Error("one that was cancelled still waits")
		}
		end(first, second)
		if c.inside != 0 || c.waiting.Load() != 0 {
			t.Errorf("afterwards %d are inside and %d wait", c.inside, c.waiting.Load())
		}
	})
}

// Whatever joins do: no more turns than there may be, none left unused while
// somebody waits, and everything is given back.
func TestCoresRandom(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			c := NewCores(1 + random.IntN(4))
			check := func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				inside, queued := 0, 0
				for _, s := range c.shares {
					inside += s.inside
					queued += len(s.queue)
				}
				if inside != c.inside || queued != int(c.waiting.Load()) {
					t.Errorf("seed %d: %d inside, %d counted; %d wait, %d counted", seed, inside, c.inside, queued, c.waiting.Load())
				}
				if queued > 0 && inside < c.turns() {
					t.Errorf("seed %d: %d wait while %d of %d turns are used", seed, queued, inside, c.turns())
				}
				if inside > ThreadsPerCore*c.cores {
					t.Errorf("seed %d: %d inside", seed, inside)
				}
			}
			var all sync.WaitGroup
			for range 12 {
				own := rand.New(rand.NewPCG(random.Uint64(), 7))
				all.Go(func() {
					for range 5 {
						s := c.Join()
						var workers sync.WaitGroup
						for range 1 + own.IntN(4) {
							steps, pause := own.IntN(60), own.IntN(3)
							workers.Go(func() {
								s.Enter(t.Context())
								for i := range steps {
									time.Sleep(time.Millisecond)
									s.Yield(t.Context())
									if pause == 0 && i%10 == 9 { // waits for a batch
										s.Leave()
										time.Sleep(5 * time.Millisecond)
										s.Enter(t.Context())
									}
									check()
								}
								s.Leave()
							})
						}
						workers.Wait()
						s.Close()
						check()
					}
				})
			}
			all.Wait()
			if c.inside != 0 || c.waiting.Load() != 0 || len(c.shares) != 0 {
				t.Errorf("seed %d: afterwards %+v", seed, c)
			}
		})
	}
}
