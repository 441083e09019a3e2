package sidecar

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/testsupport/backend"
)

// TestSixteenClients runs under a budget for about four.
func TestSixteenClients(t *testing.T) {
	one := func() int64 {
		r := start(t, nil, nil)
		_, a := opened(r, 0, shm.Open{})
		return int64(a.ReservedBytes)
	}()
	r := start(t, func(o *Options) { o.MemoryBudget = 4*one + one/2 }, nil)
	rows := tableRows(100, 20, "x")
	want := joinOf(rows, rows)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 5 {
				c, err := backend.Dial(r.path, int32(1000+i))
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
	if time.Since(start) > 40*time.Second {
		t.Error("a holder queued")
	}
}

// TestVersions and garbage before HELLO.
func TestHello(t *testing.T) {
	r := start(t, nil, nil)
	for _, h := range []shm.Hello{
		{ProtocolVersion: shm.ProtocolVersion + 1, LayoutVersion: shm.LayoutVersion},
		{ProtocolVersion: shm.ProtocolVersion, LayoutVersion: shm.LayoutVersion - 1},
		{ProtocolVersion: 1<<32 - 1, LayoutVersion: shm.LayoutVersion},
	} {
		c, err := backend.DialRaw(r.path)
		must(t, err)
		_, err = c.Hello(h)
		wantFailure(t, err, shm.FailVersion)
		c.Close()
	}
	c, err := backend.DialRaw(r.path)
	must(t, err)
	must(t, c.Raw().Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), nil))
	_, _, _, err = c.Receive()
	wantFailure(t, err, shm.FailProtocol)
	c.Close()
}

// TestNoHello: who never says HELLO is not listened to for ever.
func TestNoHello(t *testing.T) {
	r := start(t, func(o *Options) { o.HelloTimeout = 50 * time.Millisecond }, nil)
	mute, err := backend.DialRaw(r.path)
	must(t, err)
	defer mute.Close()
	_, _, _, err = mute.Receive()
	wantFailure(t, err, shm.FailProtocol)
}

// TestIdle is silent after HELLO, and after a refusal. A participant of a job
// may be.
func TestIdle(t *testing.T) {
	r := start(t, func(o *Options) { o.IdleTimeout = 3 * time.Second }, nil)
	busy, _ := opened(r, 1, shm.Open{})
	silent := r.dial(2)
	_, err := silent.Status()
	must(t, err)
	_, _, _, err = silent.Receive()
	wantFailure(t, err, shm.FailProtocol)
	_, _, _, err = silent.Receive()
	if !errors.Is(err, io.EOF) {
		t.Errorf("the connection goes on: %v", err)
	}
	refused := r.dial(3)
	_, err = refused.Open(shm.Open{}, joinJob(1e17, 1e17, 1))
	wantFailure(t, err, shm.FailBudget)
	_, _, _, err = refused.Receive()
	if !errors.Is(err, io.EOF) {
		t.Errorf("the refused connection goes on: %v", err)
	}
	must(t, backend.Send(busy, shm.MsgWant, &shm.Want{Count: 1}))
	_, _, fds, err := busy.Receive()
	must(t, err)
	shm.CloseFDs(fds)
	if n := r.srv.counters.now().Violations; n != 0 {
		t.Errorf("%d violations", n)
	}
}

// panicking is a backend that cannot estimate a plan.
type panicking struct{ testBackend }

func (panicking) Estimate(*joincore.Checked) int64 { panic("an estimate that fails") }

// TestAdmissionPanics: what goes wrong in admission costs one job, not the
// daemon.
func TestAdmissionPanics(t *testing.T) {
	r := start(t, nil, panicking{})
	for range 2 {
		_, err := r.dial(0).Open(shm.Open{}, joinJob(1, 1, 1))
		wantFailure(t, err, shm.FailInternal)
	}
}

// TestAdmissionEndsWithItsConnection: a peer that has left while its job was
// estimated gets no memory.
func TestAdmissionEndsWithItsConnection(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	r := start(t, nil, slowEstimate{entered: entered, leave: leave})
	c := r.dial(0)
	must(t, backend.Send(c, shm.MsgOpen, &shm.Open{JSONLength: uint32(len(joinJob(1, 1, 1))), Participants: 1}, joinJob(1, 1, 1)...))
	<-entered
	c.Close()
	var s *session
	r.eventually("the session is being closed", func() (bool, string) {
		r.srv.mu.Lock()
		defer r.srv.mu.Unlock()
		for s = range r.srv.sessions {
		}
		return s != nil && s.ctx.Err() != nil, "it is not"
	})
	close(leave)
	r.eventually("the session has ended", func() (bool, string) {
		r.srv.mu.Lock()
		defer r.srv.mu.Unlock()
		return len(r.srv.sessions) == 0, "it has not"
	})
	if r.srv.findJob(s.id+1) != nil || r.srv.nextID != s.id {
		t.Error("a job was admitted for a peer that has left")
	}
}

// slowEstimate is a backend whose estimate waits for the test.
type slowEstimate struct {
	testBackend
	entered, leave chan struct{}
}

func (b slowEstimate) Estimate(*joincore.Checked) int64 {
	close(b.entered)
	<-b.leave
	return 0
}
