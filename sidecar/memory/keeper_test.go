package memory

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gpujoin/joincore"
)

// keeping takes n bytes of a budget for a keeper, which gives them back when it is asked to.
// It returns how many bytes it was asked for, and how many it still has.
func keeping(t *testing.T, b *Budget, n int64) (asked, left func() int64) {
	a := newAccount(b, nil)
	if !b.spare(a, n) {
		t.Fatal("the budget has no memory for a keeper")
	}
	var total int64
	b.Reclaim(func(need int64) {
		total += need
		give := min(need, n)
		n -= give
		b.release(a, give)
	})
	return func() int64 { return total }, func() int64 { return n }
}

// Keepers lose nothing for requests that a quota refuses, and give what is needed when the
// quota does not refuse them any more.
func TestKeeperAndQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1000)
		asked, left := keeping(t, b, 600)
		reserve := reserver(t, b)
		first := reserve(backendOf(1, 11), 300)
		if _, err := b.Reserve(t.Context(), nil, 400, backendOf(1, 12), 0); !errors.Is(err, ErrShare) || asked() != 0 {
			t.Errorf("a request beyond the role's share: %v, and keepers were asked for %d bytes", err, asked())
		}
		other := reserve(backendOf(1, 12), 10)
		if err := b.grow(first, 400); !errors.Is(err, joincore.ErrBudget) || asked() != 0 {
			t.Errorf("growth beyond the role's share: %v, and keepers were asked for %d bytes", err, asked())
		}
		other.Close()

		admitted := make(chan *Account)
		go func() {
			a, err := b.Reserve(t.Context(), nil, 700, backendOf(1, 12), time.Minute)
			if err != nil {
				t.Error(err)
			}
			admitted <- a
		}()
		synctest.Wait()
		if asked() != 0 {
			t.Errorf("keepers were asked for %d bytes while the quota is exceeded", asked())
		}
		first.Close()
		begin := time.Now()
		a := <-admitted
		if time.Since(begin) != 0 || left() != 300 {
			t.Errorf("the request was admitted after %v, and keepers have %d bytes left instead of 300", time.Since(begin), left())
		}
		a.Close()
	})
}

// A request that waits gets memory that keepers can give only later.
func TestKeeperRelieves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1000)
		a := newAccount(b, nil)
		if !b.spare(a, 600) {
			t.Fatal("the budget has no memory for a keeper")
		}
		leased := true
		b.Reclaim(func(need int64) {
			if !leased {
				b.release(a, need)
			}
		})
		admitted := make(chan error)
		go func() {
			_, err := b.Reserve(t.Context(), nil, 700, Claim{}, time.Minute)
			admitted <- err
		}()
		synctest.Wait()
		leased = false
		b.Relieve()
		begin := time.Now()
		if err := <-admitted; err != nil || time.Since(begin) != 0 {
			t.Errorf("the request ended after %v: %v", time.Since(begin), err)
		}
	})
}
