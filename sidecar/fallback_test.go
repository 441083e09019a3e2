package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/shm"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/memory"
)

// breaking is a backend that begins as another one does, and fails after some
// batches.
type breaking struct {
	testBackend
	inner   executor.Executor
	batches int
	err     error
}

func (b *breaking) Name() string { return "breaking" }

func (b *breaking) Run(ctx context.Context, job *executor.Job, stats *joincore.Stats) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	broken := *job
	broken.Sink = &limited{Sink: job.Sink, left: b.batches, cancel: cancel}
	if err := b.inner.Run(ctx, &broken, stats); err == nil {
		return nil
	}
	return b.err
}

// limited is a sink that takes some batches and then ends the run.
type limited struct {
	joincore.Sink
	left   int
	cancel func()
}

func (l *limited) Emit(ctx context.Context, b *joincore.Batch, rows int, heap []int) error {
	if l.left == 0 {
		l.Discard(b)
		l.cancel()
		return context.Canceled
	}
	l.left--
	return l.Sink.Emit(ctx, b, rows, heap)
}

// TestFallback: if an executor fails before any row was sent, the next one runs
// the join; after that the job fails.
func TestFallback(t *testing.T) {
	rows := tableRows(30_000, 5_000, "x")
	want := joinOf(rows, rows)
	for name, c := range map[string]struct {
		batches int  // before the failure
		fails   bool // a batch was sent
	}{
		"at once":               {0, false},
		"produced, not sent":    {3, false},
		"after a batch is left": {3, true},
	} {
		t.Run(name, func(t *testing.T) {
			errBroken := errors.New("the device is gone")
			credited := make(chan struct{})
			r := start(t, nil, nil, func(*memory.Store) executor.Executor {
				return &breaking{inner: waiting{NewLocal(cpu.New(), 1, nil), credited}, batches: c.batches, err: errBroken}
			})
			b := r.dial(0)
			_, err := b.Open(shm.Open{}, joinJob(30_000, 30_000, 200_000))
			must(t, err)
			must(t, b.Feed(0, tableShapes, rows, 0))
			must(t, b.Feed(1, tableShapes, rows, 0))
			must(t, b.Fed(shm.Fed{}))
			if c.batches == 0 {
				close(credited) // RUNNING comes with a batch
			}
			must(t, b.Run(1))
			if c.batches > 0 {
				if c.fails {
					must(t, b.Next(1))
					e, err := b.Result()
					must(t, err)
					must(t, b.Release(e))
				}
				close(credited)
			}
			if !c.fails {
				r.eventually("the job runs again", func() (bool, string) {
					report, err := b.Stats()
					must(t, err)
					return shm.Text(report.Provider[:]) == "cpu", fmt.Sprintf("%+v", report)
				})
			}
			got, err := b.Drain(resultShapes, 4)
			if c.fails {
				wantFailure(t, err, shm.FailProvider)
				return
			}
			must(t, err)
			sameRows(t, got, want)
			report, err := b.Stats()
			must(t, err)
			if p, f := shm.Text(report.Provider[:]), shm.Text(report.Fallback[:]); p != "cpu" || f != "breaking: the device is gone" {
				t.Errorf("ran on %q, because %q", p, f)
			}
			if report.RowsOut != uint64(len(want)) {
				t.Errorf("%d rows reported of %d", report.RowsOut, len(want))
			}
			wantPhases(t, report)
		})
	}
}

// waiting is a backend that fails no sooner than a test is ready: its second
// batch waits.
type waiting struct {
	executor.Executor
	ready <-chan struct{}
}

func (w waiting) Run(ctx context.Context, job *executor.Job, stats *joincore.Stats) error {
	held := *job
	held.Sink = &heldSink{Sink: job.Sink, ready: w.ready}
	return w.Executor.Run(ctx, &held, stats)
}

type heldSink struct {
	joincore.Sink
	ready <-chan struct{}
	n     int
}

func (h *heldSink) Emit(ctx context.Context, b *joincore.Batch, rows int, heap []int) error {
	if h.n++; h.n > 1 {
		<-h.ready
	}
	return h.Sink.Emit(ctx, b, rows, heap)
}

// TestDevicesInStatus: the daemon's status lists the devices of all executors.
func TestDevicesInStatus(t *testing.T) {
	r := start(t, nil, nil, func(*memory.Store) executor.Executor { return &listing{} })
	text, err := r.dial(0).Status()
	must(t, err)
	var status struct {
		Providers []string
		Devices   []executor.Device
	}
	must(t, json.Unmarshal(text, &status))
	if fmt.Sprint(status.Providers) != "[listing cpu]" || len(status.Devices) != 2 ||
		!reflect.DeepEqual(status.Devices[0], listed) ||
		status.Devices[1].Provider != "cpu" || status.Devices[1].State != executor.StateReady {
		t.Errorf("%s", text)
	}
}

type listing struct{ testBackend }

func (*listing) Name() string { return "listing" }

func (*listing) Links() []executor.Link { return nil }

func (*listing) Devices() []executor.Device {
	return []executor.Device{listed}
}

var listed = executor.Device{
	Provider: "listing", State: executor.StateBroken, Reason: "tired", Restarts: 5,
	Strategies: []executor.Strategy{{Name: "alone"}, {Name: "exchange", Reason: "there is one device"}},
}
