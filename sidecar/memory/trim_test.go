package memory

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gpujoin/joincore"
)

// keepMemory has the store keep a block of that many bytes, and extents.
func keepMemory(t *testing.T, a *Account, block int64, extents int) {
	t.Helper()
	b, err := a.Alloc(block)
	if err != nil {
		t.Fatal(err)
	}
	var held []*Extent
	for range extents {
		e, err := a.Extent(false)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, e)
	}
	a.Free(b)
	for _, e := range held {
		e.Release()
	}
}

// holdDestroy holds the first destroying of a mapping, which closes at, until goOn is closed.
func holdDestroy(s *Store) (at, goOn chan struct{}) {
	at, goOn = make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	s.beforeDestroy = func() {
		if !held.Swap(true) {
			close(at)
			<-goOn
		}
	}
	return at, goOn
}

// TestTrimLetsOthersWork holds a trim at each thing that it gives back: others
// take memory meanwhile, and who needs the bytes that are on their way waits
// for them and no longer.
func TestTrimLetsOthersWork(t *testing.T) {
	s, b := newStore(t, 8*mib), NewBudget(64*mib)
	a := reserve(t, b, s, 16*mib, Group{1})
	keepMemory(t, a, 2*mib, 3)
	at, goOn := holdDestroy(s)
	var wait sync.WaitGroup
	wait.Go(func() { s.Trim(0, 0) })

	<-at // holds 2 MiB that are counted; 3 MiB are warm
	if u := s.Usage(); u.Physical != 5*mib {
		t.Errorf("%+v", u)
	}
	small, err := a.Alloc(mib)
	if err != nil {
		t.Fatal(err)
	}
	e, err := a.Extent(false)
	if err != nil {
		t.Fatal(err)
	}
	e.Release()
	got := make(chan error, 1)
	var large []byte
	go func() {
		var err error
		large, err = a.Alloc(6 * mib) // of 8, with 1 in use: what is trimmed must go first
		got <- err
	}()
	for s.Usage().Free > 0 { // it has dropped what it could, and waits or is about to
		select {
		case err := <-got:
			t.Fatal("did not wait for what is given back: ", err)
		case <-time.After(time.Millisecond):
		}
	}
	close(goOn)
	if err := <-got; err != nil {
		t.Error(err)
	}
	wait.Wait() // nothing is left to trim
	a.Free(small)
	a.Free(large)
	s.beforeDestroy = nil
	a.Close()
}

// TestMakeRoomLetsOthersWork holds the kernel at the kept memory that a request, of a block or
// a booking, replaces: others take and return memory meanwhile.
func TestMakeRoomLetsOthersWork(t *testing.T) {
	for name, need := range map[string]func(a *Account) error{
		"block": func(a *Account) error {
			b, err := a.Alloc(6 * mib)
			if err == nil {
				a.Free(b)
			}
			return err
		},
		"booking": func(a *Account) error {
			err := a.Book(6 * mib)
			if err == nil {
				a.Unbook(6 * mib)
			}
			return err
		},
	} {
		s, b := newStore(t, 8*mib), NewBudget(64*mib)
		a, other := reserve(t, b, s, 16*mib, Group{1}), reserve(t, b, s, 2*mib, Group{2})
		keepMemory(t, a, 4*mib, 2)
		at, goOn := holdDestroy(s)
		got := make(chan error, 1)
		go func() { got <- need(a) }()
		select {
		case <-at:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: kept memory is unmapped under the lock, or not at all", name)
		}
		e, err := other.Extent(false) // a warm one
		if err != nil {
			t.Fatal(err)
		}
		e.Release()
		if u := s.Usage(); u.Physical != 6*mib {
			t.Errorf("%s: %+v", name, u)
		}
		close(goOn)
		if err := <-got; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		a.Close()
		other.Close()
		s.Close()
		if u := s.Usage(); u.Physical != 0 || u.Extents != 0 {
			t.Errorf("%s: %+v is left", name, u)
		}
	}
}

// TestTrimStops: a trim ends when the store is used again.
func TestTrimStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newStore(t, 64*mib), NewBudget(64*mib)
		a := reserve(t, b, s, 16*mib, Group{1})
		var extents []*Extent
		for range 4 {
			e, err := a.Extent(false)
			if err != nil {
				t.Fatal(err)
			}
			extents = append(extents, e)
		}
		for _, e := range extents {
			e.Release()
		}
		time.Sleep(2 * time.Second)
		s.beforeDestroy = func() {
			e, err := a.Extent(false)
			if err != nil {
				t.Error(err)
				return
			}
			e.Release()
		}
		s.Trim(0, time.Second)
		if u := s.Usage(); u.Free != 3 {
			t.Errorf("a trim went on while extents were taken: %+v", u)
		}
		s.beforeDestroy = nil
		a.Close()
	})
}

// TestUpkeep trims down to what stays warm, and not before its time.
func TestUpkeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newStore(t, 64*mib), NewBudget(64*mib)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		a := reserve(t, b, s, 16*mib, Group{1})
		if err := s.Warm(ctx, 4*mib); err != nil {
			t.Fatal(err)
		}
		go s.Upkeep(ctx, 2*mib, time.Minute)
		time.Sleep(59 * time.Second)
		if u := s.Usage(); u.Extents != 4 {
			t.Errorf("trimmed too early: %+v", u)
		}
		time.Sleep(time.Minute)
		if u := s.Usage(); u.Extents != 2 {
			t.Errorf("not trimmed: %+v", u)
		}
		if _, err := a.Alloc(65 * mib); !errors.Is(err, joincore.ErrBudget) {
			t.Error(err)
		}
		a.Close()
	})
}
