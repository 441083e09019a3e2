package sidecar

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/testsupport/backend"
)

// spoolSoon lets unread results move to disk as soon as jobs wait for memory, of which
// there is too little for two jobs of these tests.
func spoolSoon(o *Options) { o.MemoryBudget, o.SpoolAfter = 24<<20, time.Millisecond }

// numbered is a backend that returns n batches of one row, whose first column is
// the batch's number. It holds hold bytes while it runs.
func numbered(n int, hold int64) testBackend {
	return func(ctx context.Context, mem joincore.Memory, sink joincore.Sink) error {
		block, err := mem.Alloc(hold)
		if err != nil {
			return err
		}
		defer mem.Free(block)
		for i := range n {
			b, err := sink.NewBatch(ctx, make([]float64, 3))
			if err != nil {
				return err
			}
			binary.LittleEndian.PutUint64(b.Columns[0].Values, uint64(i))
			clear(b.Columns[1].Values[:8])
			clear(b.Columns[2].Values[:8])
			if err := sink.Emit(ctx, b, 1, make([]int, 3)); err != nil {
				return err
			}
		}
		return nil
	}
}

// wantNumbers checks that rows are those of numbered(n), each once.
func wantNumbers(t *testing.T, rows [][]backend.Value, n int) {
	t.Helper()
	var got []int
	for _, r := range rows {
		got = append(got, int(binary.LittleEndian.Uint64(r[0])))
	}
	slices.Sort(got)
	if len(got) != n || len(slices.Compact(got)) != n || n > 0 && got[n-1] != n-1 {
		t.Errorf("%d rows, of which %d differ, instead of %d", len(rows), len(slices.Compact(got)), n)
	}
}

// status returns the daemon's report.
func (r *rig) status() (s Status) {
	r.t.Helper()
	c := r.dial(0)
	defer c.Close()
	text, err := c.Status()
	must(r.t, err)
	must(r.t, json.Unmarshal(text, &s))
	return s
}

// jobOf returns the job of a backend.
func jobOf(s Status, pid int32) (found JobStatus) {
	for _, j := range s.Jobs {
		if j.PID == pid {
			found = j
		}
	}
	return found
}

// ran opens a job for a numbered backend and returns when it has rows.
func ran(r *rig, leader int32, open shm.Open) (*backend.Conn, shm.Admitted) {
	c, a := opened(r, leader, open)
	must(r.t, c.Fed(shm.Fed{}))
	must(r.t, c.Run(1))
	return c, a
}

// squeeze opens a job that needs more memory than is free, and waits for it.
func squeeze(r *rig, timeout time.Duration) error {
	r.t.Helper()
	b, _ := r.srv.Usage()
	rows := int(b.Total-b.Reserved) / 32 // of 32 bytes; the job needs more than its input
	c := r.dial(99)
	defer c.Close()
	c.Timeout = timeout + 10*time.Second
	_, err := c.Open(shm.Open{QueueTimeoutMS: uint32(timeout.Milliseconds())}, joinJob(rows, 1, 1))
	return err
}

// spooled waits until all results but those that participants are owed are on disk.
func (r *rig) spooled() {
	r.t.Helper()
	r.eventually("the results are on disk", func() (bool, string) {
		return slices.ContainsFunc(r.srv.listJobs(), func(j *job) bool {
			j.mu.Lock()
			defer j.mu.Unlock()
			return j.exec != nil && j.exec.produced && j.exec.surplus() == 0 && j.exec.spooling.onDisk()
		}), fmt.Sprintf("%+v", r.status().Jobs)
	})
}

// TestUnreadResultsMoveToDisk: a cursor that is left open holds a window of
// results, and its join its memory. A job that waits for that memory gets it, and
// the cursor returns all of its rows.
func TestUnreadResultsMoveToDisk(t *testing.T) {
	rows := tableRows(20_000, 1_000, "x")
	want := joinOf(rows, rows)
	for name, limit := range map[string]int64{"spool": 1 << 30, "no spool": 0} {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(o *Options) {
				spoolSoon(o)
				o.MemoryBudget, o.SpoolLimit = 32<<20, limit
			}, nil)
			idle := r.dial(1)
			_, err := idle.Open(shm.Open{}, joinJob(20_000, 20_000, 400_000))
			must(t, err)
			must(t, idle.Feed(0, tableShapes, rows, 0))
			must(t, idle.Feed(1, tableShapes, rows, 0))
			must(t, idle.Fed(shm.Fed{}))
			must(t, idle.Run(1))
			must(t, idle.Next(2))
			first, err := idle.Result()
			must(t, err)
			if limit == 0 {
				wantFailure(t, squeeze(r, 300*time.Millisecond), shm.FailBusy)
			} else {
				must(t, squeeze(r, 20*time.Second))
				s := r.status()
				if j := jobOf(s, 1); j.Spooled == 0 || s.Spooled < j.Spooled || s.Spool.Files != 1 || j.UnreadS <= 0 {
					t.Errorf("%+v", s)
				}
			}
			got, err := backend.Rows(first.Data, resultShapes)
			must(t, err)
			must(t, idle.Release(first))
			rest, err := idle.Drain(resultShapes, 1)
			must(t, err)
			sameRows(t, append(got, rest...), want)
			if s := r.status(); s.Spooled != 0 || limit > 0 && s.Spool.Written == 0 {
				t.Errorf("after the last row: %+v of disk", s.Spool)
			}
			idle.Close()
		})
	}
}

// TestSpooledResultHasNoName: the files of unread results have no name, so that
// nothing is left of them if the daemon ends, and only its user can read them.
func TestSpooledResultHasNoName(t *testing.T) {
	r := start(t, spoolSoon, numbered(100, 8<<20))
	idle, _ := ran(r, 1, shm.Open{})
	must(t, squeeze(r, 20*time.Second))
	files, err := os.ReadDir(filepath.Dir(r.path))
	must(t, err)
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), filepath.Base(r.path)) {
			t.Errorf("there is a file %s", f.Name())
		}
	}
	st, err := os.Stat(spoolFile(t, r))
	must(t, err)
	if st.Mode().Perm() != 0o600 || st.Size() == 0 {
		t.Errorf("a file of mode %o with %d bytes", st.Mode().Perm(), st.Size())
	}
	idle.Close()
}

// spoolFile returns a path by which the test can open the spool file of the daemon.
func spoolFile(t *testing.T, r *rig) string {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, fd := range fds {
		path := filepath.Join("/proc/self/fd", fd.Name())
		to, err := os.Readlink(path)
		if err == nil && strings.HasPrefix(to, r.srv.options.SpoolDir+"/") && strings.HasSuffix(to, "(deleted)") {
			return path
		}
	}
	t.Fatal("there is no spool file")
	return ""
}

// TestSpooledResultIsLost: if a file cannot be read back, its query ends with an
// error that tells why.
func TestSpooledResultIsLost(t *testing.T) {
	r := start(t, spoolSoon, numbered(100, 8<<20))
	idle, _ := ran(r, 1, shm.Open{})
	must(t, squeeze(r, 20*time.Second))
	r.spooled()
	must(t, os.Truncate(spoolFile(t, r), 0))
	_, err := idle.Drain(resultShapes, 2)
	wantFailure(t, err, shm.FailInternal)
	if !strings.Contains(err.Error(), "moved to disk are lost") {
		t.Error(err)
	}
	idle.Close()
}

// TestDiskIsFull: results for which the disk has no room stay in memory, and are
// all returned.
func TestDiskIsFull(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"limit":     func(o *Options) { o.SpoolLimit = 10 * 4096 },
		"directory": func(o *Options) { o.SpoolDir = "/nonexistent" },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(o *Options) { spoolSoon(o); change(o) }, numbered(100, 8<<20))
			idle, _ := ran(r, 1, shm.Open{})
			wantFailure(t, squeeze(r, 500*time.Millisecond), shm.FailBusy)
			if s := r.status(); s.Spooled > r.srv.options.SpoolLimit || jobOf(s, 1).State != "streaming" {
				t.Errorf("%+v", s)
			}
			got, err := idle.Drain(resultShapes, 2)
			must(t, err)
			wantNumbers(t, got, 100)
			idle.Close()
		})
	}
}

// TestSpooledResultOfParticipants: a participant that holds batches waits for the
// others, one has not asked yet, and one never comes. Each that comes gets what
// the others leave, although no memory is free.
func TestSpooledResultOfParticipants(t *testing.T) {
	for first := range 3 {
		r := start(t, spoolSoon, numbered(100, 8<<20))
		leader, job := ran(r, 1, shm.Open{Participants: 3})
		worker := r.dial(1)
		must(t, worker.Attach(job, 0))
		var held []*backend.Extent
		if first > 0 {
			must(t, leader.Next(first))
			for range first {
				e, err := leader.Result()
				must(t, err)
				held = append(held, e)
			}
		}
		must(t, squeeze(r, 20*time.Second))
		r.spooled()
		full, _ := opened(r, 98, shm.Open{QueueTimeoutMS: 20_000}) // takes what is free, as soon as the job before has left
		for {
			if _, err := full.Want(1); err != nil {
				break
			}
		}
		got, err := worker.Drain(resultShapes, 2)
		must(t, err)
		for _, e := range held {
			rows, err := backend.Rows(e.Data, resultShapes)
			must(t, err)
			got = append(got, rows...)
			must(t, leader.Release(e))
		}
		rest, err := leader.Drain(resultShapes, 2)
		must(t, err)
		wantNumbers(t, append(got, rest...), 100)
		full.Close()
		worker.Close()
		leader.Close()
		r.waitIdle()
	}
}

// TestSpooledResultIsDropped: a cursor is closed, or run again, while its results
// are on disk or on their way to it or back.
func TestSpooledResultIsDropped(t *testing.T) {
	r := start(t, spoolSoon, numbered(60, 8<<20))
	for round := range 30 {
		idle, _ := ran(r, 1, shm.Open{Flags: shm.OpenRewind})
		must(t, squeeze(r, 20*time.Second))
		if round%3 == 0 {
			r.spooled()
		}
		if round%2 == 0 {
			must(t, idle.Next(2))
			e, err := idle.Result()
			must(t, err)
			must(t, idle.Release(e))
		}
		if round%5 == 0 {
			r.eventually("its memory is free", func() (bool, string) {
				b, _ := r.srv.Usage()
				return b.Jobs == 1, fmt.Sprintf("%+v", b)
			})
			must(t, idle.Run(2))
			got, err := idle.Drain(resultShapes, 2)
			must(t, err)
			wantNumbers(t, got, 60)
		}
		idle.Close()
		r.waitIdle()
	}
}

// TestReadResultsStayInMemory: a result that is read does not move, and neither
// does one for whose memory nobody waits.
func TestReadResultsStayInMemory(t *testing.T) {
	r := start(t, func(o *Options) { spoolSoon(o); o.SpoolAfter = time.Hour }, numbered(100, 8<<20))
	idle, _ := ran(r, 1, shm.Open{})
	wantFailure(t, squeeze(r, 300*time.Millisecond), shm.FailBusy)
	if s := r.status(); s.Spool.Written != 0 {
		t.Errorf("%+v", s.Spool)
	}
	idle.Close()
}

// TestLongestUnreadMovesFirst: results move in the order in which they were last
// read, and only while a job waits for memory.
func TestLongestUnreadMovesFirst(t *testing.T) {
	r := start(t, func(o *Options) { o.MemoryBudget, o.SpoolAfter = 32<<20, time.Hour }, numbered(100, 8<<20))
	first, _ := ran(r, 1, shm.Open{})
	second, _ := ran(r, 2, shm.Open{})
	must(t, first.Next(1)) // reads later than the second
	e, err := first.Result()
	must(t, err)
	must(t, first.Release(e))
	r.eventually("the batch is back, and both have results that may move", func() (bool, string) {
		return !slices.ContainsFunc(r.srv.listJobs(), func(j *job) bool {
			j.mu.Lock()
			defer j.mu.Unlock()
			return j.exec == nil || !j.exec.announced || j.exec.scheduler.held() > 0 || j.exec.surplus() == 0
		}), fmt.Sprintf("%+v", r.status().Jobs)
	})
	if j := r.srv.longestUnread(r.srv.budget.Shortage(), time.Now()); j != nil {
		t.Errorf("nobody waits for memory, but the results of job %d may move", j.id)
	}
	waits := make(chan error, 1)
	go func() { waits <- squeeze(r, 20*time.Second) }()
	r.eventually("a job waits", func() (bool, string) {
		b, _ := r.srv.Usage()
		return b.Queued == 1, fmt.Sprintf("%+v", b)
	})
	for _, pid := range []int32{2, 1} {
		j := r.srv.longestUnread(r.srv.budget.Shortage(), time.Now())
		if j == nil || j.pid != pid {
			t.Fatalf("the next one is not the job of backend %d", pid)
		}
		j.startSpool(time.Now())
	}
	must(t, <-waits)
	first.Close()
	second.Close()
}
