package device_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// sums is a meeting at which each member gets the sum of all parts and its own number.
func sums(members int) *device.Meeting[int, [2]int] {
	return device.NewMeeting(members, func(_ context.Context, parts []int) (out [][2]int, err error) {
		sum := 0
		for _, p := range parts {
			sum += p
		}
		for m := range parts {
			out = append(out, [2]int{sum, m})
		}
		return out, nil
	})
}

// Each member gets its own result, in whatever order they come.
func TestMeeting(t *testing.T) {
	for members := 1; members <= 8; members++ {
		m := sums(members)
		err := device.Workers(t.Context(), members, func(ctx context.Context, i int) error {
			got, err := m.Join(ctx, i, 1<<i)
			if want := [2]int{1<<members - 1, i}; err == nil && got != want {
				err = fmt.Errorf("member %d: %v", i, got)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// Each member waits from when it comes to when the last one does; the work is no wait.
func TestWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := device.NewMeeting(3, func(_ context.Context, parts []int) ([]int, error) {
			time.Sleep(time.Hour)
			return parts, nil
		})
		comes := []time.Duration{20 * time.Minute, 0, 30 * time.Minute}
		err := device.Workers(t.Context(), 3, func(ctx context.Context, i int) error {
			time.Sleep(comes[i])
			if got := m.Waited(1); got != 0 {
				return fmt.Errorf("member 1 has waited %v when %d comes", got, i)
			}
			_, err := m.Join(ctx, i, 0)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []time.Duration{10 * time.Minute, 30 * time.Minute, 0} {
			if got := m.Waited(i); got != want {
				t.Errorf("member %d has waited %v, want %v", i, got, want)
			}
		}
	})
}

// come has members come to a meeting, and returns a function that returns their errors when all
// have left.
func come[P, R any](m *device.Meeting[P, R], ctx map[int]context.Context, part P) func() map[int]error {
	var mu sync.Mutex
	var wait sync.WaitGroup
	errs := map[int]error{}
	for member, c := range ctx {
		wait.Go(func() {
			_, err := m.Join(c, member, part)
			mu.Lock()
			defer mu.Unlock()
			errs[member] = err
		})
	}
	return func() map[int]error { wait.Wait(); return errs }
}

// If a context ends while a member is missing, nothing is done, and all leave with its cause: those
// who wait, and who comes later.
func TestMeetingIsCalledOff(t *testing.T) {
	cause := errors.New("another device has failed")
	for _, early := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			worked := false
			m := device.NewMeeting(4, func(context.Context, []int) ([]int, error) { worked = true; return make([]int, 4), nil })
			ending, end := context.WithCancelCause(t.Context())
			if early {
				end(cause)
			}
			left := come(m, map[int]context.Context{0: t.Context(), 1: ending, 2: t.Context()}, 1)
			synctest.Wait()
			end(cause)
			for member, err := range left() {
				if !errors.Is(err, cause) {
					t.Errorf("member %d: %v", member, err)
				}
			}
			if _, err := m.Join(t.Context(), 3, 1); !errors.Is(err, cause) || worked {
				t.Errorf("the last one: %v, worked: %v", err, worked)
			}
		})
	}
}

// When the work has begun, members leave only when it has ended, though their contexts end before;
// then all have its outcome.
func TestMembersWaitForTheWork(t *testing.T) {
	failed := errors.New("the work has failed")
	for _, want := range []error{nil, failed} {
		synctest.Test(t, func(t *testing.T) {
			begun, ends := make(chan struct{}), make(chan struct{})
			var reads atomic.Bool // what members have brought
			m := device.NewMeeting(3, func(context.Context, []int) ([]int, error) {
				reads.Store(true)
				close(begun)
				<-ends
				reads.Store(false)
				return make([]int, 3), want
			})
			ctx, end := context.WithCancelCause(t.Context())
			left := come(m, map[int]context.Context{0: ctx, 1: t.Context(), 2: ctx}, 1)
			<-begun
			end(errors.New("cancelled"))
			synctest.Wait()
			if !reads.Load() {
				t.Fatal("the work has ended")
			}
			close(ends)
			for member, err := range left() {
				if !errors.Is(err, want) || reads.Load() {
					t.Errorf("member %d: %v", member, err)
				}
			}
		})
	}
}

// A panic of the work is that of the member that does it; the others get an error. So do they if
// results are missing.
func TestMeetingWithoutResults(t *testing.T) {
	m := device.NewMeeting(3, func(context.Context, []int) ([]int, error) { panic("a mistake") })
	panics, errs := 0, make([]error, 3)
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i := range 3 {
		wait.Go(func() {
			defer func() {
				if recover() != nil {
					mu.Lock()
					defer mu.Unlock()
					panics++
				}
			}()
			_, errs[i] = m.Join(t.Context(), i, 1)
		})
	}
	wait.Wait()
	if failed := len(slices.DeleteFunc(errs, func(err error) bool { return err == nil })); panics != 1 || failed != 2 {
		t.Errorf("%d panics, %d errors", panics, failed)
	}
	few := device.NewMeeting(1, func(context.Context, []int) ([]int, error) { return nil, nil })
	if _, err := few.Join(t.Context(), 0, 1); !errors.Is(err, joincore.ErrInvalid) {
		t.Error(err)
	}
}

// A member comes once.
func TestMeetingTakesPlaceOnce(t *testing.T) {
	m := sums(1)
	if _, err := m.Join(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Join(t.Context(), 0, 1); !errors.Is(err, joincore.ErrInvalid) {
		t.Error(err)
	}
}
