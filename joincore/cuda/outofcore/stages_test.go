package outofcore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// Each stage's work sees what was fetched for it, stages are fetched in order, and none is
// fetched too early: its memory is that of the stage `ahead`+1 before.
func TestStagesAreFetchedAhead(t *testing.T) {
	for _, ahead := range []int{1, 2, 5} {
		for _, n := range []int{0, 1, 2, 3, 17} {
			var mu sync.Mutex
			var fetched, worked []int
			err := Stages(context.Background(), n, ahead, func(_ context.Context, i int) {
				mu.Lock()
				defer mu.Unlock()
				if i > len(worked)+ahead {
					t.Errorf("stage %d is fetched after the work of %d stages, %d ahead", i, len(worked), ahead)
				}
				fetched = append(fetched, i)
			}, func(i int) error {
				mu.Lock()
				defer mu.Unlock()
				if !slices.Contains(fetched, i) {
					t.Errorf("stage %d was not fetched", i)
				}
				worked = append(worked, i)
				return nil
			})
			if err != nil || len(worked) != n || len(fetched) != n || !slices.IsSorted(worked) || !slices.IsSorted(fetched) {
				t.Fatalf("%d stages, %d ahead: fetched %v, worked %v: %v", n, ahead, fetched, worked, err)
			}
		}
	}
}

// Fetching goes on while a stage works.
func TestStagesOverlap(t *testing.T) {
	const n, ahead = 8, 2
	var fetched [n]chan struct{}
	for i := range fetched {
		fetched[i] = make(chan struct{})
	}
	err := Stages(context.Background(), n, ahead, func(_ context.Context, i int) { close(fetched[i]) }, func(i int) error {
		<-fetched[min(i+ahead, n-1)] // hangs if it waits for this stage
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// After an error no further stage is fetched, and no fetch is under way any more.
func TestStagesEndAfterAnError(t *testing.T) {
	var running atomic.Int32
	fail := errors.New("fails")
	err := Stages(context.Background(), 100, 3, func(ctx context.Context, i int) {
		running.Add(1)
		defer running.Add(-1)
		if i > 3 {
			<-ctx.Done() // which the error of stage 2 ends
		}
	}, func(i int) error {
		if i == 2 {
			return fail
		}
		return nil
	})
	if !errors.Is(err, fail) || running.Load() != 0 {
		t.Errorf("%v, %d fetches under way", err, running.Load())
	}
}

// A panic of a fetch, as over memory that is gone, leaves the error to the work that needs it.
func TestStagesSurviveAPanicOfFetch(t *testing.T) {
	worked := 0
	err := Stages(context.Background(), 3, 1, func(context.Context, int) { panic("no memory there") }, func(int) error {
		worked++
		return nil
	})
	if err != nil || worked != 3 {
		t.Errorf("%d stages worked: %v", worked, err)
	}
}
