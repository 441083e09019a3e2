package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The queue runs under synctest: waiting takes no time and has one order.

func TestQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		first, err := b.Reserve(t.Context(), nil, 90, Claim{Group: Group{1, 1}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []int32
		var wg sync.WaitGroup
		for i, n := range []int64{80, 70, 40} { // any two are too much
			pid := int32(10 + i)
			wg.Go(func() {
				a, err := b.Reserve(t.Context(), nil, n, Claim{Group: Group{pid, pid}}, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, pid)
				mu.Unlock()
				time.Sleep(time.Second)
				a.Close()
			})
			synctest.Wait()
		}
		if u := b.Usage(); u.Queued != 3 {
			t.Errorf("%+v", u)
		}
		first.Close()
		wg.Wait()
		if !slices.Equal(order, []int32{10, 11, 12}) {
			t.Errorf("admitted in order %v", order)
		}
		if u := b.Usage(); u.Reserved != 0 || u.Queued != 0 {
			t.Errorf("%+v", u)
		}
	})
}

// A small job does not wait behind a large one that lacks memory, and a large
// one does not wait for small ones without end.
func TestSmallOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		reserve := func(pid int32, n int64, timeout time.Duration) (*Account, error) {
			return b.Reserve(t.Context(), nil, n, Claim{Group: Group{pid, pid}}, timeout)
		}
		holder, err := reserve(1, 50, 0)
		if err != nil {
			t.Fatal(err)
		}
		var large *Account
		var wg sync.WaitGroup
		wg.Go(func() { large, err = reserve(2, 80, time.Minute) })
		synctest.Wait()
		if _, err := reserve(3, 21, 0); !errors.Is(err, ErrBusy) {
			t.Errorf("a job of more than a quarter overtakes: %v", err)
		}
		// Jobs of 20 overtake one of 80 four times, whenever they come.
		for i := range int32(4) {
			a, err := reserve(10+i, 20, 0)
			if err != nil {
				t.Fatalf("small job %d: %v", i, err)
			}
			a.Close()
		}
		if _, err := reserve(20, 20, 0); !errors.Is(err, ErrBusy) {
			t.Errorf("the fifth one overtakes: %v", err)
		}
		second, secondErr := reserve(1, 20, 0)
		if secondErr != nil {
			t.Fatalf("one whose group holds a job, and would wait for itself: %v", secondErr)
		}
		synctest.Wait()
		holder.Close()
		second.Close()
		wg.Wait()
		if err != nil || large == nil {
			t.Fatalf("the large job: %v", err)
		}
		large.Close()
		if u := b.Usage(); u.Reserved != 0 || u.Queued != 0 || u.Jobs != 0 {
			t.Errorf("%+v", u)
		}
	})
}

// Behind a large job that does not fit, the queue goes on with small ones, in
// their order.
func TestSmallOvertakesInQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		keep, _ := b.Reserve(t.Context(), nil, 50, Claim{Group: Group{1, 1}}, 0)
		soon, _ := b.Reserve(t.Context(), nil, 50, Claim{Group: Group{2, 2}}, 0)
		var mu sync.Mutex
		var order []int32
		var wg sync.WaitGroup
		for i, n := range []int64{80, 60, 10, 15} {
			pid := int32(10 + i)
			wg.Go(func() {
				a, err := b.Reserve(t.Context(), nil, n, Claim{Group: Group{pid, pid}}, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, pid)
				mu.Unlock()
				time.Sleep(time.Second)
				a.Close()
			})
			synctest.Wait()
		}
		soon.Close()
		synctest.Wait()
		mu.Lock()
		slices.Sort(order) // they were admitted at once
		if !slices.Equal(order, []int32{12, 13}) {
			t.Errorf("admitted %v while a large job does not fit", order)
		}
		mu.Unlock()
		keep.Close()
		wg.Wait()
		if !slices.Equal(order, []int32{12, 13, 10, 11}) {
			t.Errorf("admitted in order %v", order)
		}
	})
}

func TestQueueTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		holder, err := b.Reserve(t.Context(), nil, 60, Claim{Group: Group{1, 1}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Reserve(t.Context(), nil, 50, Claim{Group: Group{2, 2}}, 0); !errors.Is(err, ErrBusy) {
			t.Errorf("without a timeout: %v", err)
		}
		if _, err := b.Reserve(t.Context(), nil, 101, Claim{Group: Group{2, 2}}, time.Hour); !errors.Is(err, ErrTooLarge) {
			t.Errorf("more than there is: %v", err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			start := time.Now()
			if _, err := b.Reserve(t.Context(), nil, 50, Claim{Group: Group{2, 2}}, time.Second); !errors.Is(err, ErrBusy) || time.Since(start) != time.Second {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		})
		synctest.Wait()
		// Behind the one that will time out stands one that then fits.
		wg.Go(func() {
			start := time.Now()
			a, err := b.Reserve(t.Context(), nil, 40, Claim{Group: Group{3, 3}}, time.Minute)
			if err != nil || time.Since(start) != time.Second {
				t.Errorf("%v after %v", err, time.Since(start))
				return
			}
			a.Close()
		})
		wg.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := b.Reserve(ctx, nil, 50, Claim{Group: Group{4, 4}}, time.Hour); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
		synctest.Wait()
		cancel()
		wg.Wait()
		holder.Close()
		if u := b.Usage(); u.Reserved != 0 || u.Queued != 0 || u.Jobs != 0 {
			t.Errorf("%+v", u)
		}
	})
}

// TestHolderNeverQueues: a backend that holds a job would wait for itself.
func TestHolderNeverQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		leader, err := b.Reserve(t.Context(), nil, 60, Claim{Group: Group{1, 1}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for name, g := range map[string]Group{"itself": {1, 1}, "a worker of it": {1, 99}} {
			start := time.Now()
			if _, err := b.Reserve(t.Context(), nil, 50, Claim{Group: g}, time.Hour); !errors.Is(err, ErrBusy) || time.Since(start) != 0 {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
		}
		// Others queue; what fits goes to the holder all the same.
		var wg sync.WaitGroup
		wg.Go(func() {
			a, err := b.Reserve(t.Context(), nil, 90, Claim{Group: Group{2, 2}}, time.Hour)
			if err != nil {
				t.Error(err)
				return
			}
			a.Close()
		})
		synctest.Wait()
		second, err := b.Reserve(t.Context(), nil, 40, Claim{Group: Group{1, 1}}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		second.Close()
		leader.Close()
		wg.Wait()
	})
}

// TestLeaverHoldsNothing: a backend that has ended its query and begins the
// next one queues, even if the daemon has not cleaned up yet.
func TestLeaverHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		present := true
		first, err := b.Reserve(t.Context(), nil, 60, Claim{Group: Group{1, 1}, Present: func() bool { return present }}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Reserve(t.Context(), nil, 60, Claim{Group: Group{1, 1}}, time.Hour); !errors.Is(err, ErrBusy) {
			t.Error(err)
		}
		present = false
		time.AfterFunc(time.Second, first.Close)
		second, err := b.Reserve(t.Context(), nil, 60, Claim{Group: Group{1, 1}}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		second.Close()
	})
}

// TestSameGroupInQueue: once one of a group gets in, the others may not wait.
func TestSameGroupInQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		holder, err := b.Reserve(t.Context(), nil, 100, Claim{Group: Group{1, 1}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var got, refused int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				a, err := b.Reserve(t.Context(), nil, 60, Claim{Group: Group{7, 7}}, time.Hour)
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, ErrBusy) {
					refused++
				} else if err == nil {
					got++
					time.AfterFunc(time.Minute, a.Close)
				}
			})
		}
		synctest.Wait()
		holder.Close()
		wg.Wait()
		if got != 1 || refused != 2 {
			t.Errorf("%d admitted, %d refused", got, refused)
		}
		time.Sleep(2 * time.Minute)
	})
}

func TestStopRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		holder, err := b.Reserve(t.Context(), nil, 100, Claim{Group: Group{1, 1}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.Reserve(t.Context(), nil, 1, Claim{Group: Group{2, 2}}, time.Hour); !errors.Is(err, ErrStopping) {
				t.Error(err)
			}
		})
		synctest.Wait()
		b.Stop()
		wg.Wait()
		if _, err := b.Reserve(t.Context(), nil, 1, Claim{Group: Group{3, 3}}, time.Hour); !errors.Is(err, ErrStopping) {
			t.Error(err)
		}
		holder.Close()
	})
}
