package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/memory"
	"gpujoin/testsupport/backend"

	"golang.org/x/sys/unix"
)

// testBackend is a backend whose Run a test gives. It needs no memory.
type testBackend func(ctx context.Context, mem joincore.Memory, sink joincore.Sink) error

func (testBackend) Name() string { return "test" }

func (testBackend) Estimate(*joincore.Checked) int64 { return 0 }

func (testBackend) Load() (joins, threads int) { return 0, 0 }

func (testBackend) Ready() error { return nil }

func (testBackend) Check(*joincore.Checked) error { return nil }

func (testBackend) Devices() []executor.Device { return nil }
func (testBackend) Links() []executor.Link     { return nil }

func (testBackend) Close() {}

func (e testBackend) Run(ctx context.Context, job *executor.Job, _ *joincore.Stats) error {
	return e(ctx, job.Memory, job.Sink)
}

// emit produces n batches of one row.
func emit(ctx context.Context, sink joincore.Sink, n int) error {
	for range n {
		b, err := sink.NewBatch(ctx, make([]float64, 3))
		if err != nil {
			return err
		}
		clear(b.Columns[2].Values[:8])
		if err := sink.Emit(ctx, b, 1, make([]int, 3)); err != nil {
			return err
		}
	}
	return nil
}

func wantFailure(t *testing.T, err error, code shm.Failure) {
	t.Helper()
	var f *backend.Failed
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("%v, %s was expected", err, code)
	}
}

// opened dials and opens a small job.
func opened(r *rig, leader int32, open shm.Open) (*backend.Conn, shm.Admitted) {
	r.t.Helper()
	c := r.dial(leader)
	a, err := c.Open(open, joinJob(100, 100, 100))
	must(r.t, err)
	return c, a
}

// fault reads behind the end of a mapped file, as from an extent whose pages
// are gone.
func fault() error {
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, 4096); err != nil {
		return err
	}
	b, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Munmap(b) }() // of the test's own mapping
	if err := unix.Ftruncate(fd, 0); err != nil {
		return err
	}
	return fmt.Errorf("%d was read behind the end", b[100])
}

// TestBackendFails says before RUNNING what went wrong, and frees everything.
func TestBackendFails(t *testing.T) {
	for name, c := range map[string]struct {
		run  testBackend
		code shm.Failure
	}{
		"budget": {func(context.Context, joincore.Memory, joincore.Sink) error {
			return fmt.Errorf("%w: x", joincore.ErrBudget)
		}, shm.FailBudget},
		"descriptors": {func(context.Context, joincore.Memory, joincore.Sink) error {
			return fmt.Errorf("%w: %w", memory.ErrStore, unix.EMFILE)
		}, shm.FailResources},
		"row":         {func(context.Context, joincore.Memory, joincore.Sink) error { return joincore.ErrRowTooWide }, shm.FailUnsupported},
		"unsupported": {func(context.Context, joincore.Memory, joincore.Sink) error { return joincore.ErrUnsupported }, shm.FailUnsupported},
		"arithmetic":  {func(context.Context, joincore.Memory, joincore.Sink) error { return joincore.ErrArithmetic }, shm.FailArithmetic},
		"data":        {func(context.Context, joincore.Memory, joincore.Sink) error { return joincore.ErrInvalid }, shm.FailProtocol},
		"unknown":     {func(context.Context, joincore.Memory, joincore.Sink) error { return io.ErrClosedPipe }, shm.FailProvider},
		"panic":       {func(context.Context, joincore.Memory, joincore.Sink) error { panic("test") }, shm.FailInternal},
		"nil pointer": {func(context.Context, joincore.Memory, joincore.Sink) error { var p *int; *p = 1; return nil }, shm.FailInternal},
		"fault":       {func(context.Context, joincore.Memory, joincore.Sink) error { return fault() }, shm.FailInternal},
		"leak": {func(_ context.Context, mem joincore.Memory, _ joincore.Sink) error {
			if _, err := mem.Alloc(1 << 20); err != nil {
				return err
			}
			return joincore.ErrInvalid
		}, shm.FailProtocol},
		"too much": {func(_ context.Context, mem joincore.Memory, _ joincore.Sink) error {
			for {
				if _, err := mem.Alloc(16 << 20); err != nil {
					return err
				}
			}
		}, shm.FailBudget},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, nil, c.run)
			b, _ := opened(r, 0, shm.Open{})
			must(t, b.Fed(shm.Fed{}))
			wantFailure(t, b.Run(1), c.code)
			if _, err := b.Stats(); err != nil {
				t.Errorf("no statistics after a failure: %v", err)
			}
			r.eventually("the failed job is freed", func() (bool, string) {
				u, _ := r.srv.Usage()
				return u.Reserved == 0, fmt.Sprintf("%+v", u)
			})
			b.Close()
		})
	}
}

// TestBackendFailsLate fails after rows were sent: every participant is told.
func TestBackendFailsLate(t *testing.T) {
	r := start(t, nil, testBackend(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
		if err := emit(ctx, sink, 2); err != nil {
			return err
		}
		return joincore.ErrInvalid
	}))
	leader, job := opened(r, 0, shm.Open{Participants: 2})
	worker := r.dial(0)
	must(t, worker.Attach(job, 0))
	must(t, leader.Run(1))
	for _, c := range []*backend.Conn{leader, worker} {
		var err error
		for range 3 {
			if _, _, fds, rerr := c.Receive(); rerr != nil {
				shm.CloseFDs(fds)
				err = rerr
				break
			}
		}
		wantFailure(t, err, shm.FailProtocol)
	}
	late := r.dial(0)
	wantFailure(t, late.Attach(job, 1), shm.FailProtocol)
}

// TestOpenerLeaves kills whoever opened a job, in every state of the job. The
// other participant goes on, unless rows are missing; once it has left too,
// everything is freed.
func TestOpenerLeaves(t *testing.T) {
	const rows = 30 // each of them a batch
	blocked := make(chan struct{}, 8)
	busy := testBackend(func(ctx context.Context, mem joincore.Memory, sink joincore.Sink) error {
		if _, err := mem.Alloc(8 << 20); err != nil {
			return err
		}
		blocked <- struct{}{}
		return emit(ctx, sink, rows)
	})
	silent := testBackend(func(ctx context.Context, mem joincore.Memory, _ joincore.Sink) error {
		blocked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	fails := func(t *testing.T, other *backend.Conn) {
		_, _, _, err := other.Receive()
		wantFailure(t, err, shm.FailInternal)
	}
	returns := func(want int) func(*testing.T, *backend.Conn) {
		return func(t *testing.T, other *backend.Conn) {
			got, err := other.Drain(resultShapes, 2)
			must(t, err)
			if len(got) != want {
				t.Errorf("%d rows instead of %d", len(got), want)
			}
		}
	}
	runs := func(t *testing.T, other *backend.Conn) {
		must(t, other.Run(1))
		<-blocked
		returns(rows)(t, other)
	}
	run := func(t *testing.T, opener *backend.Conn) {
		must(t, opener.Run(1))
		<-blocked
	}
	for name, c := range map[string]struct {
		last  executor.Last
		reach func(t *testing.T, opener *backend.Conn)
		then  func(t *testing.T, other *backend.Conn)
	}{
		"admitted": {busy, func(*testing.T, *backend.Conn) {}, runs},
		"granted": {busy, func(t *testing.T, opener *backend.Conn) {
			_, err := opener.Want(5)
			must(t, err)
		}, fails},
		"filled": {busy, func(t *testing.T, opener *backend.Conn) {
			must(t, opener.Feed(0, tableShapes, tableRows(50, 5, "l"), 10))
		}, fails},
		"fed": {busy, func(t *testing.T, opener *backend.Conn) {
			must(t, opener.Feed(0, tableShapes, tableRows(50, 5, "l"), 10))
			must(t, opener.Fed(shm.Fed{}))
		}, runs},
		"running": {silent, func(t *testing.T, opener *backend.Conn) {
			must(t, backend.Send(opener, shm.MsgRun, &shm.Run{Generation: 1}))
			<-blocked
		}, func(*testing.T, *backend.Conn) {}},
		"window full": {busy, run, returns(rows)},
		"holding results": {busy, func(t *testing.T, opener *backend.Conn) {
			run(t, opener)
			must(t, opener.Next(2))
			for range 2 {
				_, err := opener.Result()
				must(t, err)
			}
		}, returns(rows - 2)},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, nil, c.last)
			opener, job := opened(r, 0, shm.Open{Participants: 2})
			other := r.dial(0)
			must(t, other.Attach(job, -1))
			c.reach(t, opener)
			opener.Kill()
			r.eventually("the opener is gone", func() (bool, string) {
				r.srv.mu.Lock()
				defer r.srv.mu.Unlock()
				return len(r.srv.sessions) == 1, fmt.Sprintf("%d sessions", len(r.srv.sessions))
			})
			c.then(t, other)
			other.Kill()
			r.waitIdle()
			if err := r.dial(0).Attach(job, 1); err == nil {
				t.Error("a dead job took a participant")
			}
		})
	}
}

// TestOpenerLeavesAdmission: a group whose job another participant goes on
// with still never waits for itself.
func TestOpenerLeavesAdmission(t *testing.T) {
	r := start(t, func(o *Options) { o.MemoryBudget = 40 << 20 }, nil)
	opener, job := opened(r, 1, shm.Open{Participants: 2})
	other := r.dial(1)
	must(t, other.Attach(job, 0))
	opener.Close()
	_, err := r.dial(1).Open(shm.Open{QueueTimeoutMS: 600_000}, joinJob(200_000, 200_000, 200_000))
	wantFailure(t, err, shm.FailBusy)
}

// TestWorkerLeaves: what it fed stays, what it held comes back; leaving while
// it feeds would lose rows and fails the job.
func TestWorkerLeaves(t *testing.T) {
	t.Run("after feeding", func(t *testing.T) {
		r := start(t, nil, nil)
		leader, job := opened(r, 0, shm.Open{Participants: 2})
		worker := r.dial(0)
		must(t, worker.Attach(job, 0))
		rows := tableRows(100, 10, "x")
		must(t, worker.Feed(0, tableShapes, rows, 0))
		must(t, worker.Fed(shm.Fed{Rows: 100}))
		worker.Close()
		must(t, leader.Feed(1, tableShapes, rows, 0))
		must(t, leader.Fed(shm.Fed{Rows: 100}))
		must(t, leader.Run(1))
		got, err := leader.Drain(resultShapes, 1)
		must(t, err)
		sameRows(t, got, joinOf(rows, rows))
		stats, err := leader.Stats()
		must(t, err)
		if len(stats.ParticipantList) != 2 || stats.ParticipantList[1].FedRows != 100 {
			t.Errorf("the worker is not in the statistics: %+v", stats.ParticipantList)
		}
		leader.Close()
	})
	t.Run("while it feeds", func(t *testing.T) {
		r := start(t, nil, nil)
		leader, job := opened(r, 0, shm.Open{Participants: 2})
		worker := r.dial(0)
		must(t, worker.Attach(job, 0))
		_, err := worker.Want(2)
		must(t, err)
		worker.Kill()
		_, _, _, err = leader.Receive()
		wantFailure(t, err, shm.FailInternal)
	})
	t.Run("with results", func(t *testing.T) {
		r := start(t, func(o *Options) { o.Window = 4 }, testBackend(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
			return emit(ctx, sink, 20)
		}))
		leader, job := opened(r, 0, shm.Open{Participants: 2})
		worker := r.dial(0)
		must(t, worker.Attach(job, 0))
		must(t, leader.Run(1))
		must(t, worker.Next(2))
		for range 2 {
			_, err := worker.Result()
			must(t, err)
		}
		worker.Kill() // holds two of a window of four
		got, err := leader.Drain(resultShapes, 2)
		must(t, err)
		if len(got) != 18 {
			t.Errorf("%d rows", len(got))
		}
		leader.Close()
	})
}

// TestRefusedParticipant: a session that a full job refuses is no participant of it, for which
// others would wait.
func TestRefusedParticipant(t *testing.T) {
	r := start(t, nil, nil)
	_, job := opened(r, 0, shm.Open{Participants: 1})
	for i := range int32(3) {
		must(t, r.dial(0).Attach(job, i))
	}
	wantFailure(t, r.dial(0).Attach(job, 3), shm.FailProtocol)
	if n := len(*r.srv.findJob(job.Job).members.Load()); n != 4 {
		t.Errorf("the job has %d participants instead of 4", n)
	}
}
