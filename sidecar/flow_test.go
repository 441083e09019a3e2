package sidecar

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/testsupport/backend"
)

// TestSlowReader stops reading while results wait; others get theirs.
func TestSlowReader(t *testing.T) {
	r := start(t, func(o *Options) { o.Window = 6 }, testBackend(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
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
		t.Errorf("only %d rows while another reader is slow", len(got))
	}
	rest, err := slow.Drain(resultShapes, 0)
	must(t, err)
	if len(got)+len(rest) != 300 {
		t.Errorf("%d and %d rows", len(got), len(rest))
	}
	leader.Close()
}

// TestDeafPeer asks for answers without ever reading one. The daemon stops
// reading its requests, and other sessions are not affected.
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
	must(t, backend.Send(b, shm.MsgRun, &shm.Run{Generation: 9}))
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

// TestRunsInARow sends RUN without waiting for the answer to the one before.
// Each would be an execution that waits, with a goroutine of its own.
func TestRunsInARow(t *testing.T) {
	running := make(chan struct{})
	r := start(t, nil, testBackend(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
		close(running)
		<-ctx.Done()
		return ctx.Err()
	}))
	b, _ := opened(r, 0, shm.Open{Flags: shm.OpenRewind})
	must(t, b.Fed(shm.Fed{}))
	must(t, backend.Send(b, shm.MsgRun, &shm.Run{Generation: 1}))
	<-running
	must(t, backend.Send(b, shm.MsgRun, &shm.Run{Generation: 2}))
	_, _, _, err := b.Receive()
	wantFailure(t, err, shm.FailProtocol)
}

// TestFewerBatchesThanParticipants: the last to ask are sent away at once, and
// the others get all rows.
func TestFewerBatchesThanParticipants(t *testing.T) {
	// The leader keeps 14 MiB of 16.
	r := start(t, func(o *Options) { o.MemoryBudget, o.Window = 16<<20, 2 }, testBackend(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
		return emit(ctx, sink, 300)
	}))
	leader, job := opened(r, 0, shm.Open{Participants: 4})
	held, err := leader.Want(14) // not given back before the rows are read
	must(t, err)
	if len(held) != 14 {
		t.Fatalf("%d extents", len(held))
	}
	must(t, leader.Fed(shm.Fed{}))
	must(t, leader.Run(1))
	var workers []*backend.Conn
	var first []*backend.Extent
	for i := range int32(3) { // each asks when the one before has its answer
		w := r.dial(0)
		must(t, w.Attach(job, i))
		must(t, w.Next(2))
		workers = append(workers, w)
		e, err := w.Result()
		if err != nil || (e == nil) != (i == 2) {
			t.Fatalf("worker %d of a window of two got %v, %v", i, e, err)
		}
		first = append(first, e)
	}
	rest, err := leader.Drain(resultShapes, 2)
	must(t, err)
	if len(rest) != 0 {
		t.Errorf("the leader got %d rows although two others had the window", len(rest))
	}
	rows := 0
	for i, w := range workers[:2] {
		must(t, w.Release(first[i]))
		got, err := w.Drain(resultShapes, 2)
		must(t, err)
		rows += 1 + len(got)
	}
	if rows != 300 {
		t.Errorf("%d rows", rows)
	}
	leader.Close()
}

// TestPartialGrant: a WANT is answered at once, with the extents that are free;
// if there is none, the job fails. Memory that becomes free is granted to the
// next WANT.
func TestPartialGrant(t *testing.T) {
	const extents = 24 // of the budget; a job reserves 9
	r := start(t, func(o *Options) { o.MemoryBudget = extents << 20 }, nil)
	neighbour, _ := opened(r, 1, shm.Open{})
	c, _ := opened(r, 2, shm.Open{})
	got, err := c.Want(shm.FrameMaxFDs)
	must(t, err)
	if len(got) >= shm.FrameMaxFDs {
		t.Fatalf("all %d extents were granted", len(got))
	}
	neighbour.Close()
	r.eventually("the neighbour's job has ended", func() (bool, string) {
		b, _ := r.srv.Usage()
		return b.Jobs == 1, fmt.Sprintf("%+v", b)
	})
	more, err := c.Want(shm.FrameMaxFDs)
	must(t, err)
	if len(got)+len(more) != extents {
		t.Errorf("%d and %d of %d extents were granted", len(got), len(more), extents)
	}
	_, err = c.Want(1)
	wantFailure(t, err, shm.FailBudget)
}

// fillChain hands over an extent of a chain, at once or not at all.
func fillChain(t testing.TB, c *backend.Conn, chain uint64, data string) error {
	t.Helper()
	extents, err := c.Want(1)
	must(t, err)
	copy(extents[0].Data, shm.Append(nil, &shm.ChainHeader{
		Magic: shm.ChainMagic, Version: shm.LayoutVersion, Chain: chain, Bytes: uint32(len(data)),
	}))
	copy(extents[0].Data[shm.ChainDataOff:], data)
	return c.ChainFilled(extents[0], chain, uint32(len(data)))
}

// TestChains: every participant has a chain of its own, and anyone may ask for
// any extent of it, as often as he likes.
func TestChains(t *testing.T) {
	r := start(t, nil, nil)
	leader, job := opened(r, 0, shm.Open{Participants: 2})
	worker := r.dial(0)
	must(t, worker.Attach(job, 0))
	for number := range uint32(3) {
		must(t, fillChain(t, worker, shm.ChainExtentName(0, number), fmt.Sprint("worker's ", number)))
	}
	must(t, worker.Fed(shm.Fed{}))
	must(t, leader.Run(1))
	for _, c := range []*backend.Conn{leader, worker, leader} {
		for number := range uint32(3) {
			got, err := c.Chain(shm.ChainExtentName(0, number))
			must(t, err)
			if want := fmt.Sprint("worker's ", number); string(got) != want {
				t.Errorf("extent %d holds %q instead of %q", number, got, want)
			}
		}
	}
	_, err := leader.Chain(shm.ChainExtentName(0, 3))
	wantFailure(t, err, shm.FailProtocol)
}

// TestIdleCursor: a job whose results are not read frees the memory that it can.
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
