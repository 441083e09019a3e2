package sidecar

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
)

// TestPhaseClasses: each time is in the first class whose bound it does not exceed, and in
// those above it.
func TestPhaseClasses(t *testing.T) {
	var p phases
	for _, d := range []time.Duration{0, time.Millisecond, time.Millisecond + 1, time.Hour} {
		p.took(joinPhase, d)
	}
	got := p.now()[joinPhase]
	last := len(phaseBounds) - 1
	if got.Phase != "join" || got.Count != 4 || got.Counts[0] != 2 || got.Counts[1] != 3 || got.Counts[last] != 3 || got.SumS < 3600 {
		t.Errorf("%+v", got)
	}
	if n := len(p.all[0].classes); n != len(phaseBounds)+1 {
		t.Errorf("%d classes for %d bounds", n, len(phaseBounds))
	}
}

// TestPhases: a job is counted once in each phase, and a refused one in none.
func TestPhases(t *testing.T) {
	r := start(t, nil, nil)
	rows := tableRows(100, 100, "x")
	c := r.dial(1)
	joined(t, c, shm.Open{}, joinJob(len(rows), len(rows), len(rows)), rows)
	c.Close()
	_, err := r.dial(2).Open(shm.Open{}, joinJob(1e17, 1e17, 1))
	wantFailure(t, err, shm.FailBudget)
	r.eventually("the job has ended", func() (bool, string) {
		s := r.srv.Status()
		for _, p := range s.Phases {
			if p.Count != 1 || p.SumS < 0 {
				return false, fmt.Sprintf("%+v", s.Phases)
			}
		}
		return true, ""
	})
}

// TestProgress follows a job by its status: who waits, for what, and how far it has come.
func TestProgress(t *testing.T) {
	r := start(t, func(o *Options) { o.MemoryBudget = 16 << 20 }, testBackend(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
		return emit(ctx, sink, 2)
	}))
	c, _ := opened(r, 1, shm.Open{})
	job := func() JobStatus { return r.srv.Status().Jobs[0] }
	if j := job(); j.State != "feeding" || j.WaitsFor != "backend" || j.Expected <= 0 || j.ExpectedOut <= 0 {
		t.Errorf("%+v", j)
	}
	asked := make(chan error)
	go func() { // needs more than is left
		_, err := r.dial(2).Open(shm.Open{QueueTimeoutMS: 60_000}, joinJob(150_000, 10, 10))
		asked <- err
	}()
	r.eventually("a job waits for memory", func() (bool, string) {
		w := r.srv.Status().Waiting
		return len(w) == 1 && w[0].PID == 2 && w[0].State == "queued" && w[0].WaitsFor == "memory" && w[0].AgeS > 0, fmt.Sprintf("%+v", w)
	})
	must(t, c.Run(1))
	r.eventually("the result waits for the client", func() (bool, string) {
		j := job()
		return j.State == "streaming" && j.WaitsFor == "client" && j.RowsOut > 0, fmt.Sprintf("%+v", j)
	})
	c.Close()
	must(t, <-asked)
	if w := r.srv.Status().Waiting; len(w) != 0 {
		t.Errorf("%+v", w)
	}
}

// TestProcess: the status has what the system says of this process.
func TestProcess(t *testing.T) {
	p := processStatus()
	if p.Goroutines < 1 || p.Threads < 1 || p.HeapBytes == 0 || p.Resident < 1<<20 || p.Files < 3 || p.MaxFiles < uint64(p.Files) ||
		p.StartS > float64(time.Now().Unix()+1) || p.StartS < float64(time.Now().Add(-24*time.Hour).Unix()) {
		t.Errorf("%+v", p)
	}
}
