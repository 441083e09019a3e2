package memory

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"gpujoin/joincore"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mib = 1 << 20

func newStore(t *testing.T, limit int64) *Store {
	t.Helper()
	s, err := NewStore(mib, limit, 1000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if u := s.Usage(); u.Physical != 0 || u.Extents != 0 || u.KeptBlocks != 0 {
			t.Errorf("after Close there is still %+v", u)
		}
	})
	return s
}

func reserve(t *testing.T, b *Budget, s *Store, n int64, group Group) *Account {
	t.Helper()
	a, err := b.Reserve(context.Background(), s, n, Claim{Group: group}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestClass(t *testing.T) {
	for _, n := range []int64{1, 4096, 4097, 65536, 65537, 1<<20 + 1, 3 << 20, 1<<24 + 1, 1<<30 + 12345, 1 << 40} {
		c := classOf(n)
		if c < n || c%pageSize != 0 || n > 1<<17 && c > n+n/16+1 || classOf(c) != c {
			t.Errorf("%d is rounded to %d", n, c)
		}
		if n > 32*mib && c%(2*mib) != 0 {
			t.Errorf("%d is not rounded to whole huge pages: %d", n, c)
		}
	}
}

// TestResultsOfARunBefore: batches that come back after a rewind are not kept
// for the window of the new run, which has all of its own.
func TestResultsOfARunBefore(t *testing.T) {
	s, b := newStore(t, 8*mib), NewBudget(8*mib)
	a := reserve(t, b, s, 8*mib, Group{1, 1})
	a.KeepForResults(3)
	var before []*Extent
	for range 3 {
		e, err := a.Extent(true)
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, e)
	}
	if n := a.KeepForResults(3); n != 3 {
		t.Fatalf("room for %d results", n)
	}
	for _, e := range before {
		e.Release()
	}
	for i := range 5 {
		if _, err := a.Alloc(mib); err != nil {
			t.Fatalf("the join gets %d MiB of 8, of which 3 are for results: %v", i, err)
		}
	}
	a.Close()
}

func TestAllocFree(t *testing.T) {
	s, b := newStore(t, 64*mib), NewBudget(64*mib)
	a := reserve(t, b, s, mib, Group{1, 1})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 5))
			for range 300 {
				n := rnd.Int64N(2 * mib)
				m, err := a.Alloc(n)
				if err != nil {
					t.Error(err)
					return
				}
				if int64(len(m)) != n || int64(cap(m)) != n {
					t.Errorf("%d bytes, capacity %d, of %d", len(m), cap(m), n)
				}
				for i := 0; i < len(m); i += 511 {
					m[i] = byte(g)
				}
				for i := 0; i < len(m); i += 511 {
					if m[i] != byte(g) {
						t.Error("two blocks overlap")
						return
					}
				}
				a.Free(m)
			}
		})
	}
	wg.Wait()
	if used, peak := a.Used(), a.Peak(); used != 0 || peak == 0 || peak > 64*mib {
		t.Errorf("%d in use, peak %d", used, peak)
	}
	a.Close()
	if u := b.Usage(); u.Reserved != 0 || u.Jobs != 0 {
		t.Errorf("%+v", u)
	}
}

// TestBudgetExceeded grows a job as far as the budget goes.
func TestBudgetExceeded(t *testing.T) {
	s, b := newStore(t, 10*mib), NewBudget(10*mib)
	a, other := reserve(t, b, s, 2*mib, Group{1, 1}), reserve(t, b, s, 4*mib, Group{2, 2})
	for range 3 {
		if _, err := a.Alloc(2 * mib); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Alloc(mib); !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("a job grew into another one's reservation: %v", err)
	}
	if _, err := a.Extent(false); !errors.Is(err, joincore.ErrBudget) {
		t.Error(err)
	}
	for _, n := range []int64{11 * mib, 1 << 62, 1<<63 - 1} {
		if _, err := a.Alloc(n); !errors.Is(err, joincore.ErrBudget) {
			t.Errorf("%d: %v", n, err)
		}
	}
	if _, err := a.Alloc(-1); err == nil {
		t.Error("a negative size was allocated")
	}
	other.Close()
	if _, err := a.Alloc(mib); err != nil {
		t.Error(err)
	}
	a.Close()
	if _, err := a.Alloc(1); !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("a closed account allocates: %v", err)
	}
}

// TestKeepForResults sees that a join cannot eat the memory for its results.
func TestKeepForResults(t *testing.T) {
	s, b := newStore(t, 8*mib), NewBudget(8*mib)
	a := reserve(t, b, s, 2*mib, Group{1, 1})
	if n := a.KeepForResults(100); n != 8 {
		t.Fatalf("room for %d results in 8 MiB", n)
	}
	if n := a.KeepForResults(3); n != 3 {
		t.Fatalf("room for %d results", n)
	}
	a.Trim() // a rewind
	if n := a.KeepForResults(3); n != 3 {
		t.Fatalf("room for %d results", n)
	}
	for range 5 {
		if _, err := a.Alloc(mib); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Alloc(mib); !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("memory of results was taken: %v", err)
	}
	var held []*Extent
	for round := range 3 {
		for range 3 {
			e, err := a.Extent(true)
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			held = append(held, e)
		}
		if _, err := a.Extent(true); !errors.Is(err, joincore.ErrBudget) {
			t.Error(err)
		}
		for _, e := range held {
			e.Release()
		}
		held = nil
	}
	a.Close()
}

// TestTrim sees a reservation fall with what is in use after the last result,
// and grow again for a rewind.
func TestTrim(t *testing.T) {
	s, b := newStore(t, 16*mib), NewBudget(16*mib)
	a := reserve(t, b, s, 10*mib, Group{1, 1})
	input, err := a.Extent(false)
	if err != nil {
		t.Fatal(err)
	}
	if n := a.KeepForResults(2); n != 2 {
		t.Fatalf("room for %d results", n)
	}
	result, err := a.Extent(true)
	if err != nil {
		t.Fatal(err)
	}
	reserved := func(want int64) {
		t.Helper()
		if u := b.Usage(); u.Reserved != want {
			t.Errorf("%d bytes are reserved instead of %d", u.Reserved, want)
		}
	}
	reserved(10 * mib)
	a.Trim()
	reserved(2 * mib)
	result.Release()
	reserved(mib)
	if n := a.KeepForResults(2); n != 2 {
		t.Fatalf("room for %d results", n)
	}
	reserved(3 * mib)
	if result, err = a.Extent(true); err != nil {
		t.Fatal(err)
	}
	result.Release()
	reserved(3 * mib)
	a.Trim()
	reserved(mib)
	input.Release()
	reserved(0)
	a.Close()
}

// TestLateRelease closes an account while a peer maps an extent.
func TestLateRelease(t *testing.T) {
	s, b := newStore(t, 8*mib), NewBudget(8*mib)
	a := reserve(t, b, s, 4*mib, Group{1, 1})
	e, err := a.Extent(false)
	if err != nil {
		t.Fatal(err)
	}
	e.Retain()
	e.Release()
	a.Close()
	if u := b.Usage(); u.Reserved != mib || u.Jobs != 0 {
		t.Errorf("%+v", u)
	}
	if u := s.Usage(); u.Free != 0 || u.Extents != 1 {
		t.Errorf("%+v", u)
	}
	e.Release()
	if u := b.Usage(); u.Reserved != 0 {
		t.Errorf("%+v", u)
	}
	if u := s.Usage(); u.Free != 1 {
		t.Errorf("%+v", u)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("an extent was released twice")
			}
		}()
		e.refs.Store(0)
		e.Release()
	}()
}

// TestStoreLimit lets kept memory of one kind make room for the other.
func TestStoreLimit(t *testing.T) {
	s, b := newStore(t, 8*mib), NewBudget(8*mib)
	if err := s.Warm(context.Background(), 100*mib); err != nil {
		t.Fatal(err)
	}
	if u := s.Usage(); u.Free != 8 {
		t.Fatalf("%+v", u)
	}
	a := reserve(t, b, s, 8*mib, Group{1, 1})
	m, err := a.Alloc(6 * mib)
	if err != nil {
		t.Fatal(err)
	}
	if u := s.Usage(); u.Free != 2 || u.Physical != 8*mib {
		t.Errorf("%+v", u)
	}
	a.Free(m)
	var held []*Extent
	for range 8 {
		e, err := a.Extent(false)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, e)
	}
	if u := s.Usage(); u.KeptBlocks != 0 || u.Physical != 8*mib {
		t.Errorf("%+v", u)
	}
	for _, e := range held {
		e.Release()
	}
	a.Close()
	s.Trim(3*mib, time.Hour)
	if u := s.Usage(); u.Extents != 8 {
		t.Errorf("trimmed too early: %+v", u)
	}
	s.Trim(3*mib, 0)
	if u := s.Usage(); u.Extents != 3 || u.Physical != 3*mib {
		t.Errorf("%+v", u)
	}
}

func TestTooManyExtents(t *testing.T) {
	s, err := NewStore(mib, 100*mib, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := reserve(t, NewBudget(100*mib), s, 10*mib, Group{1, 1})
	defer a.Close()
	for i := range 3 {
		e, err := a.Extent(false)
		if (err == nil) != (i < 2) || err != nil && !errors.Is(err, ErrStore) {
			t.Errorf("extent %d: %v", i, err)
		}
		if e != nil {
			defer e.Release()
		}
	}
}

// TestSpareExtentGoesBack: what a spare extent has reserved is free for other jobs once it is
// released.
func TestSpareExtentGoesBack(t *testing.T) {
	s, b := newStore(t, 64*mib), NewBudget(64*mib)
	a := reserve(t, b, s, 16*mib, Group{1})
	e, err := a.SpareExtent()
	if err != nil {
		t.Fatal(err)
	}
	e.Release()
	if u := b.Usage(); u.Reserved != 16*mib {
		t.Errorf("%d bytes are reserved instead of %d", u.Reserved, 16*mib)
	}
	a.Close()
}
