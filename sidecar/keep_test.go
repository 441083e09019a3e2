package sidecar

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"gpujoin/shm"
	"gpujoin/sidecar/kept"
	"gpujoin/testsupport/backend"
)

// keptJob is joinJob over inputs that may be kept.
func keptJob(left, right, out int) []byte {
	job := bytes.ReplaceAll(joinJob(left, right, out), []byte(`"align":8}`), []byte(`"align":8,"form":1,"scale":0}`))
	job = bytes.ReplaceAll(job, []byte(`"align":4}`), []byte(`"align":4,"form":2,"scale":0}`))
	return bytes.ReplaceAll(job, []byte(`"columns":`+"[\n"), []byte(`"kept":{"hidden":0},"columns":`+"[\n"))
}

// pagesOf is PAGES of an input of a few blocks, which are captured at the first use.
func pagesOf(input uint32) []byte {
	g := shm.Group{LSN: 5}
	g.Visible[0] = 0b111
	return shm.AppendPages(nil, &shm.Pages{
		Input: input, Flags: shm.PagesAlways, ServerStart: 1, Timeline: 1, Database: 5, Tablespace: 1663, File: 10 + input, Blocks: 3, Flushed: 9,
	}, &shm.Leaf{Groups: []shm.Group{g}, Attnums: []int16{1, 2, 3}, Name: "public.t"})
}

// sendOpen opens a job without waiting for the answer.
func openAsync(t *testing.T, c *backend.Conn, open shm.Open, job []byte) {
	t.Helper()
	open.Participants = max(open.Participants, 1)
	open.Participant = -1
	open.JSONLength = uint32(len(job))
	must(t, backend.Send(c, shm.MsgOpen, &open, job...))
}

// answers reads the next frames, which must have these types.
func answers(t *testing.T, c *backend.Conn, want ...shm.Message) (last []byte) {
	t.Helper()
	for _, m := range want {
		f, body, _, err := c.Receive()
		must(t, err)
		if f.Type != m {
			t.Fatalf("%s came instead of %s", f.Type, m)
		}
		last = bytes.Clone(body)
	}
	return last
}

// keeping makes a daemon keep columns.
func keeping(o *Options) { o.KeepMemory = 64 << 20 }

// TestEarlyPages: PAGES that come before ADMITTED are answered after it, also if the job has to
// wait, and no more of them are held than the protocol allows.
func TestEarlyPages(t *testing.T) {
	r := start(t, keeping, nil)
	early := func(c *backend.Conn, open shm.Open, job []byte) {
		openAsync(t, c, open, job)
		must(t, c.Raw().Write(pagesOf(1), nil))
		must(t, c.Raw().Write(pagesOf(0), nil))
	}
	c := r.dial(1)
	early(c, shm.Open{}, keptJob(10, 10, 10))
	last, _, _, err := shm.DecodeKept(answers(t, c, shm.MsgAdmitted, shm.MsgKept, shm.MsgKept))
	if err != nil || last.Input != 0 || last.Mode != shm.FeedKept {
		t.Errorf("the last answer is %+v, %v", last, err)
	}
	c.Close()
	r.waitIdle()

	holder := r.dial(2)
	_, err = holder.Open(shm.Open{}, joinJob(4_500_000, 1000, 1))
	must(t, err)
	waiting := r.dial(3)
	early(waiting, shm.Open{QueueTimeoutMS: 60_000}, keptJob(4_500_000, 1000, 1))
	r.eventually("the job waits", func() (bool, string) {
		u, _ := r.srv.Usage()
		return u.Queued == 1, ""
	})
	holder.Close()
	answers(t, waiting, shm.MsgAdmitted, shm.MsgKept, shm.MsgKept)
	waiting.Close()
	r.waitIdle()

	refused := r.dial(4)
	early(refused, shm.Open{}, keptJob(4_500_000_000, 1000, 1))
	_, _, _, err = refused.Receive()
	wantFailure(t, err, shm.FailBudget)

	twice := r.dial(5)
	early(twice, shm.Open{}, keptJob(10, 10, 10))
	must(t, twice.Raw().Write(pagesOf(1), nil))
	for err = nil; err == nil; {
		_, _, _, err = twice.Receive()
	}
	wantFailure(t, err, shm.FailProtocol)

	holder = r.dial(6)
	_, err = holder.Open(shm.Open{}, joinJob(4_500_000, 1000, 1))
	must(t, err)
	flood := r.dial(7)
	openAsync(t, flood, shm.Open{QueueTimeoutMS: 60_000}, keptJob(4_500_000, 1000, 1))
	for range shm.MaxEarlyPages/len(pagesOf(0)) + 2 {
		if err := flood.Raw().Write(pagesOf(0), nil); err != nil {
			break // it has been closed
		}
	}
	var failed *backend.Failed
	if _, _, _, err := flood.Receive(); !errors.As(err, &failed) || failed.Code != shm.FailProtocol {
		t.Errorf("a flood of PAGES: %v", err)
	}
	flood.Close()
	holder.Close()
}

// TestCaptureOfLargeTable: what a capture needs is the memory of its rows, which may be a small
// part of their blocks: the table is larger than the daemon's memory. Rows that are unknown, or
// more than blocks have, may fill the blocks: then a part of these is captured.
func TestCaptureOfLargeTable(t *testing.T) {
	r := start(t, keeping, nil)
	const blocks = 40_000
	for rows, whole := range map[uint64]bool{400_000: true, 0: false, 12_000_000: false, math.MaxUint64: false} {
		c := r.dial(1)
		openAsync(t, c, shm.Open{}, keptJob(10, 10, 10))
		must(t, c.Raw().Write(shm.AppendPages(nil, &shm.Pages{
			Input: 1, Flags: shm.PagesAlways, ServerStart: 1, Timeline: 1, Database: 5, Tablespace: 1663, File: uint32(100 + rows%1000), Blocks: blocks, Flushed: 9, Rows: rows,
		}, &shm.Leaf{Groups: []shm.Group{{LSN: 5, Visible: shm.Bitmap{7}}, {LSN: 5}}, Attnums: []int16{1, 2, 3}, Name: "public.t"}), nil))
		v, leaves, _, err := shm.DecodeKept(answers(t, c, shm.MsgAdmitted, shm.MsgKept))
		if err != nil || v.Mode != shm.FeedKept || len(leaves) != 1 || whole != (leaves[0].Capture == blocks) ||
			leaves[0].Capture%kept.ChunkBlocks != 0 && !whole || leaves[0].Capture < kept.ChunkBlocks {
			t.Errorf("%d rows: %+v, %+v, %v", rows, v, leaves, err)
		}
		if u, _ := r.srv.Usage(); u.Reserved > u.Total {
			t.Errorf("%d rows: %+v", rows, u)
		}
		c.Close()
		r.waitIdle()
	}
}

// TestParticipantOfKeptInputLeaves: a participant that knows which blocks are kept may have
// claimed some, which nobody else feeds. The job does not go on without it.
func TestParticipantOfKeptInputLeaves(t *testing.T) {
	for name, ask := range map[string]func(c *backend.Conn) error{
		"after KEPT": func(c *backend.Conn) error {
			return backend.Send(c, shm.MsgKeptGet, &shm.KeptGet{})
		},
		"after KEPT of an input that is fed": func(c *backend.Conn) error {
			return backend.Send(c, shm.MsgKeptGet, &shm.KeptGet{Input: 1})
		},
		"after BLOCKS": func(c *backend.Conn) error {
			return backend.Send(c, shm.MsgBlocksGet, &shm.BlocksGet{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, keeping, nil)
			leader := r.dial(0)
			job, err := leader.Open(shm.Open{Participants: 2}, keptJob(10, 10, 10))
			must(t, err)
			must(t, leader.Raw().Write(pagesOf(0), nil))
			answers(t, leader, shm.MsgKept)
			worker := r.dial(0)
			must(t, worker.Attach(job, 0))
			must(t, ask(worker))
			if _, _, _, err := worker.Receive(); err != nil {
				t.Fatal(err)
			}
			worker.Kill()
			must(t, leader.Raw().Sock().SetReadDeadline(time.Now().Add(10*time.Second)))
			_, _, _, err = leader.Receive()
			wantFailure(t, err, shm.FailInternal)
			leader.Close()
		})
	}
}
