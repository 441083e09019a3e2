package sidecar

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/testsupport/backend"
)

// TestStop stops while jobs run: they may finish, new ones may not start.
func TestStop(t *testing.T) {
	proceed := make(chan struct{})
	o := testOptions(t)
	srv, err := Start(o, testBackend(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
		<-proceed
		return emit(ctx, sink, 3)
	}))
	must(t, err)
	r := &rig{t, srv, o.Socket}
	b, _ := opened(r, 1, shm.Open{})
	idle := r.dial(2)
	must(t, backend.Send(b, shm.MsgRun, &shm.Run{Generation: 1}))
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

func receiveRunning(c *backend.Conn) (shm.Frame, []byte, error) {
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
	srv, err := Start(o, testBackend(func(ctx context.Context, _ joincore.Memory, _ joincore.Sink) error {
		<-ctx.Done()
		return ctx.Err()
	}))
	must(t, err)
	r := &rig{t, srv, o.Socket}
	b, _ := opened(r, 1, shm.Open{})
	must(t, backend.Send(b, shm.MsgRun, &shm.Run{Generation: 1}))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	must(t, srv.Stop(ctx))
	_, _, err = receiveRunning(b)
	wantFailure(t, err, shm.FailStopping)
	if u, s := srv.Usage(); u.Reserved != 0 || s.Physical != 0 {
		t.Errorf("%+v %+v", u, s)
	}
}

// TestStopWithoutEnd: a job that does not end, as one whose worker hangs in a driver, does not
// keep the daemon from stopping.
func TestStopWithoutEnd(t *testing.T) {
	o := testOptions(t)
	o.StopTimeout = time.Hour
	begun, end := make(chan struct{}), make(chan struct{})
	srv, err := Start(o, testBackend(func(context.Context, joincore.Memory, joincore.Sink) error {
		close(begun)
		<-end
		return context.Canceled
	}))
	must(t, err)
	r := &rig{t, srv, o.Socket}
	b, _ := opened(r, 1, shm.Open{})
	must(t, backend.Send(b, shm.MsgRun, &shm.Run{Generation: 1}))
	<-begun
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Stop(ctx) }()
	select {
	case err := <-stopped:
		if err == nil {
			t.Error("the job that runs is not mentioned")
		}
	case <-time.After(30 * time.Second):
		t.Error("the daemon waits for the job")
	}
	close(end)
	r.eventually("all memory is given back", func() (bool, string) {
		b, s := srv.Usage()
		return b.Reserved == 0 && s.Physical == 0, fmt.Sprintf("%+v %+v", b, s)
	})
}
