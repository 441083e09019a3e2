package sidecar

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/testsupport/backend"
)

func TestJoin(t *testing.T) {
	for _, c := range []struct{ left, right, keys, batch, credits int }{
		{0, 0, 1, 0, 1},
		{1, 1, 1, 0, 1},
		{100, 0, 10, 0, 2},
		{1000, 1000, 1000, 0, 2},
		{200, 100, 7, 3, 1},
		{40, 50, 1, 1, 4},
		{9000, 9000, 9000, 0, 3},
		{600, 600, 10, 255, 16},
	} {
		r := start(t, nil, nil)
		left, right := tableRows(c.left, c.keys, "l"), tableRows(c.right, c.keys, "r")
		b := r.dial(0)
		if _, err := b.Open(shm.Open{}, joinJob(c.left, c.right, c.left)); err != nil {
			t.Fatal(err)
		}
		must(t, b.Feed(0, tableShapes, left, c.batch))
		must(t, b.Feed(1, tableShapes, right, c.batch))
		must(t, b.Fed(shm.Fed{Rows: uint64(c.left + c.right), FeedUS: 5, WaitUS: 2}))
		must(t, b.Run(1))
		rows, err := b.Drain(resultShapes, c.credits)
		must(t, err)
		want := joinOf(left, right)
		sameRows(t, rows, want)
		must(t, backend.Send(b, shm.MsgReturned, &shm.Returned{Rows: uint64(len(rows)), ReturnUS: 9}))
		stats, err := b.Stats()
		must(t, err)
		if stats.RowsIn != uint64(c.left+c.right) || stats.RowsOut != uint64(len(want)) || len(stats.JoinList) != 1 {
			t.Errorf("statistics %+v", stats)
		}
		wantPhases(t, stats)
		if p := stats.ParticipantList; len(p) != 1 || p[0].Participant != -1 || p[0].FeedUS != 5 || p[0].ReturnedRows != uint64(len(rows)) {
			t.Errorf("participants %+v", p)
		}
		b.Close()
	}
}

// TestParallel lets a leader and two workers feed and read, one of which
// comes only for the results.
func TestParallel(t *testing.T) {
	r := start(t, nil, nil)
	left, right := tableRows(20000, 3000, "l"), tableRows(9000, 3000, "r")
	leader, worker, late := r.dial(0), r.dial(0), r.dial(0)
	job, err := leader.Open(shm.Open{Participants: 3}, joinJob(len(left), len(right), 60000))
	must(t, err)
	must(t, worker.Attach(job, 0))

	var feeding sync.WaitGroup
	for _, f := range []func() error{
		func() error { return leader.Feed(0, tableShapes, left[:11000], 0) },
		func() error {
			if err := worker.Feed(0, tableShapes, left[11000:], 500); err != nil {
				return err
			}
			return worker.Feed(1, tableShapes, right, 0)
		},
	} {
		feeding.Go(func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
	}
	feeding.Wait()
	must(t, leader.Fed(shm.Fed{}))
	must(t, worker.Fed(shm.Fed{}))
	must(t, worker.Run(1))
	must(t, late.Attach(job, 1))

	var mu sync.Mutex
	var rows [][]backend.Value
	var reading sync.WaitGroup
	for _, c := range []*backend.Conn{leader, worker, late} {
		reading.Go(func() {
			got, err := c.Drain(resultShapes, 2)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			rows = append(rows, got...)
		})
	}
	reading.Wait()
	sameRows(t, rows, joinOf(left, right))
	for _, c := range []*backend.Conn{late, worker, leader} {
		c.Close()
	}
}

// TestForcedAlgorithm: a job that names an algorithm is executed by it, and the
// report says where it was not.
func TestForcedAlgorithm(t *testing.T) {
	rows := tableRows(1000, 1000, "x")
	want := joinOf(rows, rows)
	for _, a := range joincore.Algorithms {
		r := start(t, nil, nil)
		b := r.dial(0)
		job := joinJob(len(rows), len(rows), len(rows))
		job = bytes.Replace(job, []byte(`"lsn":""`), fmt.Appendf(nil, `"lsn":"","algorithm":%q`, a), 1)
		got := joined(t, b, shm.Open{}, job, rows)
		sameRows(t, got, want)
		stats, err := b.Stats()
		must(t, err)
		if j := stats.JoinList[0]; shm.Text(j.Algorithm[:]) != a.String() || shm.Text(j.Reason[:]) != "" {
			t.Errorf("%v: executed by %q, reason %q", a, shm.Text(j.Algorithm[:]), shm.Text(j.Reason[:]))
		}
		b.Close()
	}
}
