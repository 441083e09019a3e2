package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/client"

	"golang.org/x/sys/unix"
)

// testEngine is an Engine whose Run a test gives. It needs no memory.
type testEngine func(ctx context.Context, mem joincore.Memory, sink joincore.Sink) error

func (testEngine) Name() string                  { return "test" }
func (testEngine) Estimate(*joincore.Plan) int64 { return 0 }
func (e testEngine) Run(ctx context.Context, _ *joincore.Plan, _ []*joincore.Relation,
	mem joincore.Memory, sink joincore.Sink, _ *joincore.Stats) error {
	return e(ctx, mem, sink)
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
	var f *client.Failed
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("%v, %s was expected", err, code)
	}
}

// opened dials and opens a small job.
func opened(r *rig, leader int32, open shm.Open) (*client.Conn, shm.Admitted) {
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

// TestEngineFails says before RUNNING what went wrong, and frees everything.
func TestEngineFails(t *testing.T) {
	for name, c := range map[string]struct {
		run  testEngine
		code shm.Failure
	}{
		"budget": {func(context.Context, joincore.Memory, joincore.Sink) error {
			return fmt.Errorf("%w: x", joincore.ErrBudget)
		}, shm.FailBudget},
		"row":         {func(context.Context, joincore.Memory, joincore.Sink) error { return joincore.ErrRowTooWide }, shm.FailUnsupported},
		"unsupported": {func(context.Context, joincore.Memory, joincore.Sink) error { return joincore.ErrUnsupported }, shm.FailUnsupported},
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

// TestEngineFailsLate fails after rows were dealt: every participant is told.
func TestEngineFailsLate(t *testing.T) {
	r := start(t, nil, testEngine(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
		if err := emit(ctx, sink, 2); err != nil {
			return err
		}
		return joincore.ErrInvalid
	}))
	leader, job := opened(r, 0, shm.Open{Participants: 2})
	worker := r.dial(0)
	must(t, worker.Attach(job, 0))
	must(t, leader.Run(1))
	for _, c := range []*client.Conn{leader, worker} {
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

// TestLeaderLeaves kills the leader in every state of its job. The worker is
// told, and everything is freed though the worker stays.
func TestLeaderLeaves(t *testing.T) {
	blocked := make(chan struct{}, 8)
	engine := testEngine(func(ctx context.Context, mem joincore.Memory, sink joincore.Sink) error {
		if _, err := mem.Alloc(8 << 20); err != nil {
			return err
		}
		blocked <- struct{}{}
		return emit(ctx, sink, 1000)
	})
	silent := testEngine(func(ctx context.Context, mem joincore.Memory, _ joincore.Sink) error {
		blocked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	for name, c := range map[string]struct {
		engine Engine
		reach  func(t *testing.T, leader *client.Conn)
	}{
		"admitted": {engine, func(*testing.T, *client.Conn) {}},
		"granted": {engine, func(t *testing.T, leader *client.Conn) {
			_, err := leader.Want(5)
			must(t, err)
		}},
		"filled": {engine, func(t *testing.T, leader *client.Conn) {
			must(t, leader.Feed(0, tableShapes, tableRows(50, 5, "l"), 10))
		}},
		"fed": {engine, func(t *testing.T, leader *client.Conn) {
			must(t, leader.Feed(0, tableShapes, tableRows(50, 5, "l"), 10))
			must(t, leader.Fed(shm.Fed{}))
		}},
		"running": {silent, func(t *testing.T, leader *client.Conn) {
			must(t, client.Send(leader, shm.MsgRun, &shm.Run{Generation: 1}))
			<-blocked
		}},
		"window full": {engine, func(t *testing.T, leader *client.Conn) {
			must(t, leader.Run(1))
			<-blocked
		}},
		"holding results": {engine, func(t *testing.T, leader *client.Conn) {
			must(t, leader.Run(1))
			<-blocked
			must(t, leader.Next(2))
			for range 2 {
				_, err := leader.Result()
				must(t, err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, nil, c.engine)
			leader, job := opened(r, 0, shm.Open{Participants: 2})
			worker := r.dial(0)
			must(t, worker.Attach(job, 0))
			c.reach(t, leader)
			leader.Kill()
			_, _, _, err := worker.Receive()
			wantFailure(t, err, shm.FailInternal)
			r.waitIdle()
			if err := r.dial(0).Attach(job, 1); err == nil {
				t.Error("a dead job took a participant")
			}
		})
	}
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
		r := start(t, func(o *Options) { o.Window = 4 }, testEngine(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
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

// TestSlowReader stops reading while results wait; others get theirs.
func TestSlowReader(t *testing.T) {
	r := start(t, func(o *Options) { o.Window = 6 }, testEngine(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
		return emit(ctx, sink, 300)
	}))
	leader, job := opened(r, 0, shm.Open{Participants: 2})
	slow := r.dial(0)
	must(t, slow.Attach(job, 0))
	must(t, leader.Run(1))
	must(t, slow.Next(1000)) // and reads nothing
	got, err := leader.Drain(resultShapes, 2)
	must(t, err)
	if len(got) < 300-6 {
		t.Errorf("only %d rows beside a slow reader", len(got))
	}
	rest, err := slow.Drain(resultShapes, 0)
	must(t, err)
	if len(got)+len(rest) != 300 {
		t.Errorf("%d and %d rows", len(got), len(rest))
	}
	leader.Close()
}

// TestDeafPeer asks for answers without ever reading one. The daemon stops
// listening to it and nobody else notices.
func TestDeafPeer(t *testing.T) {
	r := start(t, nil, nil)
	deaf := r.dial(1)
	must(t, deaf.Raw().Sock().SetWriteDeadline(time.Now().Add(time.Second)))
	var err error
	for err == nil {
		err = deaf.SendEmpty(shm.MsgStatusGet)
	}
	if !strings.Contains(err.Error(), "timeout") {
		t.Fatal(err)
	}
	if _, err := r.dial(2).Status(); err != nil {
		t.Error(err)
	}
}

// TestRewind runs a job again and again, with results of the generation
// before under way.
func TestRewind(t *testing.T) {
	r := start(t, func(o *Options) { o.Window = 3 }, nil)
	rows := tableRows(9000, 9000, "x")
	b := r.dial(0)
	_, err := b.Open(shm.Open{Flags: shm.OpenRewind}, joinJob(9000, 9000, 100000))
	must(t, err)
	must(t, b.Feed(0, tableShapes, rows, 0))
	must(t, b.Feed(1, tableShapes, rows, 0))
	must(t, b.Fed(shm.Fed{}))
	want := joinOf(rows, rows)
	for generation := uint32(1); generation <= 6; generation++ {
		must(t, b.Run(generation))
		if generation%2 == 0 { // leaves early
			must(t, b.Next(2))
			if e, err := b.Result(); err != nil {
				t.Fatal(err)
			} else if e != nil {
				must(t, b.Release(e))
			}
			continue
		}
		got, err := b.Drain(resultShapes, 2)
		must(t, err)
		sameRows(t, got, want)
	}
	must(t, client.Send(b, shm.MsgRun, &shm.Run{Generation: 9}))
	for err = nil; err == nil; {
		_, _, fds, rerr := b.Receive()
		shm.CloseFDs(fds)
		err = rerr
	}
	wantFailure(t, err, shm.FailProtocol)
}

func TestRewindNotAnnounced(t *testing.T) {
	r := start(t, nil, nil)
	b, _ := opened(r, 0, shm.Open{})
	must(t, b.Fed(shm.Fed{}))
	must(t, b.Run(1))
	wantFailure(t, b.Run(2), shm.FailProtocol)
}

// TestChains sends values that are longer than an extent.
func TestChains(t *testing.T) {
	r := start(t, nil, nil)
	leader, job := opened(r, 0, shm.Open{Participants: 2})
	worker := r.dial(0)
	must(t, worker.Attach(job, 0))
	const parts = 19 // more than one frame
	var value []byte
	for part := range uint32(parts) {
		extents, err := worker.Want(1)
		must(t, err)
		data := []byte(fmt.Sprint("part ", part, ";"))
		value = append(value, data...)
		header := shm.Append(nil, &shm.ChainPart{
			Magic: shm.ChainMagic, Version: shm.LayoutVersion, Chain: 1<<32 | 5, Part: part, Bytes: uint32(len(data)),
		})
		copy(extents[0].Data, header)
		copy(extents[0].Data[shm.ChainDataOff:], data)
		must(t, worker.ChainFilled(extents[0], 1<<32|5, part, uint32(len(data))))
	}
	must(t, worker.Fed(shm.Fed{}))
	must(t, leader.Run(1))
	for _, c := range []*client.Conn{leader, worker, leader} {
		got, err := c.Chain(1<<32 | 5)
		must(t, err)
		if string(got) != string(value) {
			t.Errorf("%d bytes of %d", len(got), len(value))
		}
	}
	_, err := leader.Chain(77)
	wantFailure(t, err, shm.FailProtocol)
}

// TestSixteenClients runs under a budget for about four.
func TestSixteenClients(t *testing.T) {
	one := func() int64 {
		r := start(t, nil, nil)
		_, a := opened(r, 0, shm.Open{})
		return int64(a.ReservedBytes)
	}()
	r := start(t, func(o *Options) { o.Budget = 4*one + one/2 }, nil)
	rows := tableRows(100, 20, "x")
	want := joinOf(rows, rows)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 5 {
				c, err := client.Dial(r.path, int32(1000+i))
				if err != nil {
					t.Error(err)
					return
				}
				err = func() error {
					if _, err := c.Open(shm.Open{QueueTimeoutMS: 60000}, joinJob(100, 100, 500)); err != nil {
						return err
					}
					for input := range 2 {
						if err := c.Feed(input, tableShapes, rows, 0); err != nil {
							return err
						}
					}
					if err := c.Fed(shm.Fed{}); err != nil {
						return err
					}
					if err := c.Run(1); err != nil {
						return err
					}
					got, err := c.Drain(resultShapes, 2)
					if err == nil && len(got) != len(want) {
						err = fmt.Errorf("%d rows of %d", len(got), len(want))
					}
					return err
				}()
				if err != nil {
					t.Errorf("client %d: %v", i, err)
				}
				c.Close()
			}
		})
	}
	wg.Wait()
	if _, s := r.srv.Usage(); s.Physical > 4*one+one/2 {
		t.Errorf("more memory than the budget: %+v", s)
	}
}

// TestIdleCursor: a job whose results nobody reads gives back what it can.
func TestIdleCursor(t *testing.T) {
	r := start(t, nil, nil)
	rows := tableRows(6000, 6000, "x")
	b := r.dial(0)
	a, err := b.Open(shm.Open{}, joinJob(6000, 6000, 6000))
	must(t, err)
	must(t, b.Feed(0, tableShapes, rows, 0))
	must(t, b.Feed(1, tableShapes, rows, 0))
	must(t, b.Fed(shm.Fed{}))
	must(t, b.Run(1))
	r.eventually("the reservation falls to the results", func() (bool, string) {
		u, _ := r.srv.Usage()
		return u.Reserved <= 3<<20 && u.Reserved > 0, fmt.Sprintf("%+v of %d", u, a.ReservedBytes)
	})
	got, err := b.Drain(resultShapes, 1)
	must(t, err)
	sameRows(t, got, joinOf(rows, rows))
	b.Close()
}

// TestRefused asks for what cannot be.
func TestRefused(t *testing.T) {
	r := start(t, nil, nil)
	open := func(leader int32, o shm.Open, job []byte) error {
		c := r.dial(leader)
		_, err := c.Open(o, job)
		return err
	}
	wantFailure(t, open(1, shm.Open{}, joinJob(1e17, 1e17, 1)), shm.FailBudget)
	wantFailure(t, open(1, shm.Open{}, joinJob(10_000_000, 10_000_000, 1)), shm.FailBudget)
	wantFailure(t, open(1, shm.Open{}, []byte(`{}`)), shm.FailVersion)
	wantFailure(t, open(1, shm.Open{}, []byte(`{"version":1`)), shm.FailProtocol)
	wantFailure(t, open(1, shm.Open{Flags: 8}, joinJob(1, 1, 1)), shm.FailProtocol)
	wantFailure(t, open(1, shm.Open{Participants: 1 << 20}, joinJob(1, 1, 1)), shm.FailProtocol)

	holder := r.dial(5)
	_, err := holder.Open(shm.Open{}, joinJob(4_500_000, 1000, 1))
	must(t, err)
	wantFailure(t, open(6, shm.Open{}, joinJob(4_500_000, 1000, 1)), shm.FailBusy)
	wantFailure(t, open(6, shm.Open{QueueTimeoutMS: 20}, joinJob(4_500_000, 1000, 1)), shm.FailBusy)
	start := time.Now()
	wantFailure(t, open(5, shm.Open{QueueTimeoutMS: 60000}, joinJob(4_500_000, 1000, 1)), shm.FailBusy)
	if time.Since(start) > 10*time.Second {
		t.Error("a holder queued")
	}
}

// TestVersions and garbage before HELLO.
func TestHello(t *testing.T) {
	r := start(t, func(o *Options) { o.HelloTimeout = 200 * time.Millisecond }, nil)
	for _, h := range []shm.Hello{
		{ProtocolVersion: 2, LayoutVersion: 1}, {ProtocolVersion: 1, LayoutVersion: 0}, {ProtocolVersion: 1<<32 - 1, LayoutVersion: 1},
	} {
		c, err := client.DialRaw(r.path)
		must(t, err)
		_, err = c.Hello(h)
		wantFailure(t, err, shm.FailVersion)
		c.Close()
	}
	c, err := client.DialRaw(r.path)
	must(t, err)
	must(t, c.Raw().Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), nil))
	_, _, _, err = c.Receive()
	wantFailure(t, err, shm.FailProtocol)
	c.Close()
	mute, err := client.DialRaw(r.path)
	must(t, err)
	defer mute.Close()
	_, _, _, err = mute.Receive()
	wantFailure(t, err, shm.FailProtocol)
}

// TestStop stops while jobs run: they may finish, new ones may not start.
func TestStop(t *testing.T) {
	proceed := make(chan struct{})
	o := testOptions(t)
	srv, err := Start(o, testEngine(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
		<-proceed
		return emit(ctx, sink, 3)
	}))
	must(t, err)
	r := &rig{t, srv, o.Socket}
	b, _ := opened(r, 1, shm.Open{})
	idle := r.dial(2)
	must(t, client.Send(b, shm.MsgRun, &shm.Run{Generation: 1}))
	stopped := make(chan error)
	go func() { stopped <- srv.Stop(context.Background()) }()
	r.eventually("the daemon refuses", func() (bool, string) {
		_, err := net.Dial("unix", r.path)
		return err != nil, "it listens"
	})
	_, err = idle.Open(shm.Open{QueueTimeoutMS: 1000}, joinJob(1, 1, 1))
	wantFailure(t, err, shm.FailStopping)
	close(proceed)
	if _, _, err := receiveRunning(b); err != nil {
		t.Fatal(err)
	}
	rows, err := b.Drain(resultShapes, 1)
	must(t, err)
	if len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
	b.Close()
	must(t, <-stopped)
}

func receiveRunning(c *client.Conn) (shm.Frame, []byte, error) {
	f, body, fds, err := c.Receive()
	shm.CloseFDs(fds)
	if err == nil && f.Type != shm.MsgRunning {
		err = fmt.Errorf("%s", f.Type)
	}
	return f, body, err
}

// TestStopNow does not wait for a job that never ends by itself.
func TestStopNow(t *testing.T) {
	o := testOptions(t)
	o.StopTimeout = time.Hour
	srv, err := Start(o, testEngine(func(ctx context.Context, _ joincore.Memory, _ joincore.Sink) error {
		<-ctx.Done()
		return ctx.Err()
	}))
	must(t, err)
	r := &rig{t, srv, o.Socket}
	b, _ := opened(r, 1, shm.Open{})
	must(t, client.Send(b, shm.MsgRun, &shm.Run{Generation: 1}))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	must(t, srv.Stop(ctx))
	_, _, err = receiveRunning(b)
	wantFailure(t, err, shm.FailStopping)
	if u, s := srv.Usage(); u.Reserved != 0 || s.Physical != 0 {
		t.Errorf("%+v %+v", u, s)
	}
}
