//go:build cuda

package outofcore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/suite"
)

// owner is an execution that has memory and nothing else.
type owner struct {
	Resources
	memory suite.Arena
}

func (o *owner) Memory() joincore.Memory { return &o.memory }

// TestTogether: members agree, take each window and each co-partition once, wait for each
// other in between, and the last one frees all windows.
func TestTogether(t *testing.T) {
	const members, windows, copartitions = 3, 40, 16
	x := NewSharedJoin(members, true)
	owners := make([]owner, members)
	var mu sync.Mutex
	var filled, joined []int
	var wait sync.WaitGroup
	for m := range members {
		wait.Go(func() {
			bits, rows, err := x.agree(t.Context(), 1+m, int64(1000-m))
			if bits != members || rows != 1000-members+1 || err != nil {
				t.Errorf("%d bits, windows of %d rows, %v", bits, rows, err)
			}
			defer x.leave()
			var list []*divided
			for side := range 2 {
				more, err := x.windows(side, windows/2)
				if err != nil {
					t.Error(err)
				}
				list = append(list, more...)
			}
			for turn := m; ; turn++ {
				claim := x.first
				if turn%2 == 1 {
					claim = func() int { return x.last(0) }
				}
				i := claim()
				if i < 0 {
					break
				}
				memory, err := owners[m].memory.Alloc(64)
				if err != nil {
					t.Error(err)
				}
				list[i].scratch, list[i].owner = scratch{bytes: memory, grant: memory}, &owners[m]
				mu.Lock()
				filled = append(filled, i)
				mu.Unlock()
			}
			if err := x.meet(t.Context(), partitioned); err != nil {
				t.Error(err)
			}
			mu.Lock()
			if len(filled) != windows {
				t.Errorf("%d windows are partitioned when co-partitions are joined", len(filled))
			}
			mu.Unlock()
			for i := x.copartition(copartitions); i >= 0; i = x.copartition(copartitions) {
				mu.Lock()
				joined = append(joined, i)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	for name, list := range map[string][]int{"windows": filled, "co-partitions": joined} {
		slices.Sort(list)
		if n := len(list); len(slices.Compact(list)) != n || n != map[string]int{"windows": windows, "co-partitions": copartitions}[name] {
			t.Errorf("%s %v", name, list)
		}
	}
	for i := range owners {
		if n := owners[i].memory.InUse(); n != 0 {
			t.Errorf("%d bytes of member %d are left", n, i)
		}
	}
}

// TestAfterReads: what is to be done when no execution reads windows any more is done when
// the last one has left, and at once afterwards.
func TestAfterReads(t *testing.T) {
	x, done := NewSharedJoin(2, true), 0
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			if _, _, err := x.agree(t.Context(), 1, 10); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	x.AfterReads(func() { done++ })
	x.leave()
	x.AfterReads(func() { done++ })
	if done != 0 {
		t.Error("one of two executions still reads")
	}
	x.leave()
	if done != 2 {
		t.Errorf("%d of 2 calls", done)
	}
	x.AfterReads(func() { done++ })
	if done != 3 {
		t.Error("no execution reads")
	}
}

// A member whose context ends does not wait for one that has failed, and members that cut
// inputs differently fail.
func TestTogetherWithoutAMember(t *testing.T) {
	x := NewSharedJoin(2, true)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(joincore.ErrBudget)
	if _, _, err := x.agree(ctx, 1, 10); !errors.Is(err, joincore.ErrBudget) {
		t.Error(err)
	}
	if _, err := x.windows(0, 3); err != nil {
		t.Error(err)
	}
	if _, err := x.windows(0, 4); !errors.Is(err, joincore.ErrInvalid) {
		t.Error(err)
	}
	x.leave()
}
