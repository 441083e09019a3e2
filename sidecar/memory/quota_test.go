package memory

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gpujoin/joincore"
)

// backendOf returns the claim of a backend of a role whose jobs may reserve half
// of the budget.
func backendOf(role uint32, pid int32) Claim {
	return Claim{Group: Group{pid, pid}, Quota: Quota{Role: Role{Cluster: 1, OID: role}, Share: 0.5}}
}

// reserver reserves memory of a budget without waiting.
func reserver(t *testing.T, b *Budget) func(claim Claim, n int64) *Account {
	return func(claim Claim, n int64) *Account {
		t.Helper()
		a, err := b.Reserve(t.Context(), nil, n, claim, 0)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

// One role's backends open as many jobs as they can. Another role finds half of
// the budget free, and one backend leaves half of its role's share to others.
func TestQuotaLeavesMemoryToOthers(t *testing.T) {
	b := NewBudget(1000)
	open := func(role uint32, pid int32) (n int) {
		for {
			if _, err := b.Reserve(t.Context(), nil, 10, backendOf(role, pid), 0); err != nil {
				if !errors.Is(err, ErrShare) && !errors.Is(err, ErrBusy) {
					t.Fatal(err)
				}
				return n
			}
			n++
		}
	}
	if n := open(1, 11); n != 25 {
		t.Errorf("one backend opens %d jobs instead of 25", n)
	}
	if n := open(1, 12); n != 25 {
		t.Errorf("a second backend of the role opens %d jobs instead of 25", n)
	}
	if n := open(1, 13); n != 0 {
		t.Errorf("a third backend of the role opens %d jobs instead of none", n)
	}
	if n := open(2, 21); n != 25 {
		t.Errorf("a backend of another role opens %d jobs instead of 25", n)
	}
}

// A role's or backend's only job is as large as the budget allows.
func TestQuotaDoesNotLimitTheOnlyJob(t *testing.T) {
	b := NewBudget(1000)
	reserve := reserver(t, b)
	a := reserve(backendOf(1, 11), 900)
	if err := b.grow(a, 100); err != nil {
		t.Errorf("the only job does not grow: %v", err)
	}
	b.release(a, 100)
	a.Close()
	left := false
	leaving := backendOf(1, 11)
	leaving.Present = func() bool { return !left }
	a = reserve(leaving, 100)
	if _, err := b.Reserve(t.Context(), nil, 500, backendOf(1, 12), 0); !errors.Is(err, ErrShare) {
		t.Errorf("a second job beyond the role's share: %v", err)
	}
	left = true
	reserve(backendOf(1, 12), 500).Close() // the first one's backend has gone
	a.Close()
	if u := b.Usage(); u.Reserved != 0 || len(b.accounts) != 0 {
		t.Errorf("%+v, %d accounts", u, len(b.accounts))
	}
}

// Roles of different clusters with equal OIDs are different ones, a share of 1
// is no limit, and neither is a job without a role limited.
func TestQuotaOfWhom(t *testing.T) {
	whole := func(pid int32) Claim {
		c := backendOf(1, pid)
		c.Quota.Share = 1
		return c
	}
	other := func(pid int32) Claim {
		c := backendOf(1, pid)
		c.Quota.Role.Cluster = 2
		return c
	}
	for name, claims := range map[string][]Claim{
		"share of 1": {whole(1), whole(1), whole(2)},
		"no role":    {{Group: Group{1, 1}}, {Group: Group{1, 1}}, {Group: Group{2, 2}}},
		"clusters":   {backendOf(1, 1), other(2), backendOf(2, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			reserve := reserver(t, NewBudget(1000))
			for _, c := range claims {
				reserve(c, 330)
			}
		})
	}
}

// A job that waits for its role's memory does not hold up other roles, however
// small it is and however long its queue, and gets its turn before later jobs of
// its own role.
func TestQuotaHoldsUpNoOtherRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1000)
		reserve := reserver(t, b)
		first := reserve(backendOf(1, 11), 400)
		var mu sync.Mutex
		var order []int32
		var wg sync.WaitGroup
		for i, n := range []int64{300, 300, 300} {
			pid := int32(12 + i)
			wg.Go(func() {
				a, err := b.Reserve(t.Context(), nil, n, backendOf(1, pid), time.Minute)
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
		if _, err := b.Reserve(t.Context(), nil, 300, backendOf(1, 15), time.Second); !errors.Is(err, ErrShare) {
			t.Errorf("a job that waited for its role's memory: %v", err)
		}
		other := reserve(backendOf(2, 21), 500)
		first.Close()
		wg.Wait()
		if !slices.Equal(order, []int32{12, 13, 14}) {
			t.Errorf("admitted in order %v", order)
		}
		other.Close()
		if u := b.Usage(); u.Reserved != 0 || u.Queued != 0 || len(b.accounts) != 0 {
			t.Errorf("%+v, %d accounts", u, len(b.accounts))
		}
	})
}

// A job grows within its role's share before its first row, and as far as the
// budget allows after it. Memory that a closed job's backend still maps counts.
func TestQuotaOfGrowth(t *testing.T) {
	b := NewBudget(1000)
	reserve := reserver(t, b)
	one, two := reserve(backendOf(1, 11), 200), reserve(backendOf(1, 12), 200)
	if err := b.grow(one, 100); err != nil {
		t.Error(err)
	}
	if err := b.grow(one, 1); !errors.Is(err, ErrShare) || !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("beyond the share: %v", err)
	}
	one.Returning()
	if err := b.grow(one, 100); err != nil {
		t.Errorf("while rows are returned: %v", err)
	}
	if err := b.grow(two, 1); !errors.Is(err, ErrShare) {
		t.Errorf("another job's growth: %v", err)
	}
	b.release(one, 200)
	b.leave(one)
	if _, err := b.Reserve(t.Context(), nil, 101, backendOf(1, 13), 0); !errors.Is(err, ErrShare) {
		t.Errorf("with 200 bytes of a closed job and 200 of another: %v", err)
	}
	b.release(one, 200)
	reserve(backendOf(1, 13), 101)
}
