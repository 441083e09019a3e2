package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/testsupport/backend"
)

// totalsOf asks the daemon for its counters, as gpujoin.status() does.
func totalsOf(t *testing.T, r *rig) totals {
	t.Helper()
	c := r.dial(99)
	defer c.Close()
	text, err := c.Status()
	must(t, err)
	var status Status
	must(t, json.Unmarshal(text, &status))
	return status.Totals
}

// TestCounters takes jobs to each of their ends. A job that fails before it has
// a batch of rows leaves its backend the native plan; one that fails later does
// not.
func TestCounters(t *testing.T) {
	broken := errors.New("the device is gone")
	type course struct {
		batches int
		end     error
	}
	var next atomic.Pointer[course] // of the jobs that are opened from now on
	next.Store(&course{3, nil})
	r := start(t, nil, testBackend(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
		c := next.Load()
		if err := emit(ctx, sink, c.batches); err != nil {
			return err
		}
		return c.end
	}))
	open := func(leader int32) *backend.Conn {
		c, _ := opened(r, leader, shm.Open{})
		return c
	}
	for leader := range int32(2) { // finished
		c := open(leader + 1)
		must(t, c.Run(1))
		_, err := c.Drain(resultShapes, 2)
		must(t, err)
		c.Close()
	}
	gone := open(3) // cancelled before it ran
	gone.Close()
	stopped := open(4) // cancelled while rows are returned
	must(t, stopped.Run(1))
	stopped.Close()
	r.waitIdle()
	next.Store(&course{0, broken}) // failed before rows came
	wantFailure(t, open(5).Run(1), shm.FailProvider)
	next.Store(&course{1, broken}) // and after
	late := open(6)
	must(t, late.Run(1))
	_, err := late.Drain(resultShapes, 2)
	wantFailure(t, err, shm.FailProvider)
	_, err = r.dial(7).Open(shm.Open{}, joinJob(1e17, 1e17, 1))
	wantFailure(t, err, shm.FailBudget)
	_, err = r.dial(8).Open(shm.Open{}, []byte(`{}`))
	wantFailure(t, err, shm.FailVersion)
	r.waitIdle()
	r.eventually("all jobs have ended", func() (bool, string) {
		got := totalsOf(t, r)
		return got.Admitted == got.Finished+got.Cancelled+got.Failed, fmt.Sprintf("%+v", got)
	})
	got := totalsOf(t, r)
	reasons := map[string]int64{"budget": 1, "version": 1, "provider": 2}
	if got.Admitted != 6 || got.Finished != 2 || got.Cancelled != 2 || got.Failed != 2 || got.Refused != 2 || got.Fallbacks != 3 ||
		got.Violations != 0 || !maps.Equal(got.Reasons, reasons) {
		t.Errorf("%+v", got)
	}
}
