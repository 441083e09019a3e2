package worker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/suite"

	"golang.org/x/sys/unix"
)

// TestDevice runs a worker for a real device through the same tests: the one
// that GPUJOIN_WORKER names.
func TestDevice(t *testing.T) {
	built := os.Getenv("GPUJOIN_WORKER")
	if built == "" {
		t.Skip("GPUJOIN_WORKER names no worker")
	}
	text, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "worker")
	if err := errors.Join(os.WriteFile(program, text, 0o700), os.Chmod(filepath.Dir(program), 0o700)); err != nil {
		t.Fatal(err)
	}
	with := func(memory string) func(*Config) {
		return func(config *Config) {
			config.Path, config.Args, config.Timing = program, []string{"--memory", memory}, DefaultTiming
		}
	}
	r := start(t, "", with("8GB"))
	at := time.Now()
	r.ready()
	t.Logf("ready after %v: %+v", time.Since(at), r.remote.Devices())

	t.Run("trees", func(t *testing.T) {
		r := *r
		r.t = t
		for seed := range uint64(100) {
			plan, inputs := suite.RandomTree(seed, 3)
			r.compare(fmt.Sprint("seed ", seed), plan, inputs, []int{7, 100, 1000}[seed%3])
		}
	})
	t.Run("matrix", func(t *testing.T) {
		r := *r
		r.t = t
		for p := range suite.Plans(500) {
			r.compare(p.Name, p.Plan, p.Inputs, p.Batch)
		}
	})
	t.Run("divided", func(t *testing.T) {
		divided(start(t, "", with("64MB")).ready())
	})
	t.Run("concurrent", func(t *testing.T) {
		for i := range uint64(4) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				r := *r
				r.t = t
				for seed := range uint64(10) {
					plan, inputs := suite.RandomTree(1000+10*i+seed, 2)
					r.compare(fmt.Sprint("seed ", seed), plan, inputs, 100)
				}
			})
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		plan, inputs := explosion(20_000, 4)
		sink := newSink(r.account, plan, 1000)
		job, free := r.job(plan, inputs, sink)
		defer free()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		err := r.remote.Run(ctx, job, &joincore.Stats{})
		stopped := time.Since(deadlineOf(ctx))
		if !errors.Is(err, context.DeadlineExceeded) || stopped > 20*time.Second || sink.open != 0 {
			t.Errorf("%v, %v after it was cancelled, %d batches open", err, stopped, sink.open)
		}
		t.Logf("stopped %v after it was cancelled", stopped)
	})
	t.Run("killed", func(t *testing.T) {
		r := *r
		r.t = t
		pid, at := r.pid(), time.Now()
		r.killed()
		t.Logf("gone after %v", time.Since(at))
		r.eventually("another one serves", func() bool { return r.another(pid) })
		t.Logf("another one serves after %v", time.Since(at))
		plan, inputs := suite.RandomTree(5, 2)
		r.compare("afterwards", plan, inputs, 10)
	})
	t.Run("several", func(t *testing.T) { severalDevices(t, program, len(r.remote.Devices())) })
	t.Run("overhead", func(t *testing.T) {
		plan, inputs := explosion(100, 100)
		job, free := r.job(plan, inputs, newSink(r.account, plan, 1000))
		defer free()
		var stats joincore.Stats
		const jobs = 200
		at := time.Now()
		for range jobs {
			if err := r.remote.Run(t.Context(), job, &stats); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("a join of 100 rows takes %v, %v of it in the worker's provider", time.Since(at)/jobs, stats.JoinTime)
	})
}

// severalDevices has a worker run each job on all devices. Where there is one, the worker
// opens it twice.
func severalDevices(t *testing.T, program string, devices int) {
	each := "1"
	if devices == 1 {
		each = "2"
	}
	mesh := filepath.Join(t.TempDir(), "mesh")
	for name, file := range map[string]string{"measured": mesh, "unknown": ""} { // how they are connected
		// The worker of one must not start again while the descriptors of the other are counted.
		t.Run(name, func(t *testing.T) {
			r := start(t, "", func(config *Config) {
				config.Path, config.Timing = program, DefaultTiming
				config.Args = []string{"--memory", "2GB", "--always", "--mesh", file, "--each", each}
			})
			at := time.Now()
			r.ready()
			t.Logf("ready after %v: %+v", time.Since(at), r.remote.Devices())
			for _, l := range r.remote.Links() {
				t.Logf("link %+v", l)
			}
			if n := len(r.remote.Links()); (n > 0) != (file != "" && devices > 1) {
				t.Errorf("%d links", n)
			}
			r.onSeveral()
		})
	}
}

// onSeveral runs jobs on all devices, and kills the worker in one of them.
func (r *rig) onSeveral() {
	t := r.t
	for seed := range uint64(60) {
		plan, inputs := suite.RandomTree(seed, 3)
		r.compare(fmt.Sprint("seed ", seed), plan, inputs, []int{100, 1000}[seed%2])
	}
	for p := range suite.Plans(500) {
		// Batches of few rows could be more at a time than the memory of a test allows.
		r.compare(p.Name, p.Plan, p.Inputs, max(p.Batch, 100))
	}
	plan, inputs := large()
	stats := r.compare("large", plan, inputs, 100)
	t.Logf("%+v", stats)
	if stats.Devices < 2 || stats.Alone != "" {
		t.Errorf("%d devices: %s", stats.Devices, stats.Alone)
	}
	r.cancelled()
	r.killed()
}

// cancelled cancels a join that has returned rows, and checks that it ends and leaves
// nothing.
func (r *rig) cancelled() {
	r.t.Helper()
	plan, inputs := explosion(5_000, 5)
	sink := newSink(r.account, plan, 1000)
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	sink.before = func(_ context.Context, n int) error {
		if n == 2 {
			cancel()
		}
		return nil
	}
	job, free := r.job(plan, inputs, sink)
	defer free()
	at := time.Now()
	if err := r.remote.Run(ctx, job, &joincore.Stats{}); !errors.Is(err, context.Canceled) || sink.open != 0 {
		r.t.Errorf("%v, %d batches open", err, sink.open)
	}
	r.t.Logf("ended %v after it began", time.Since(at))
	plan, inputs = large()
	r.compare("after a cancelled join", plan, inputs, 100)
}

// killed kills the worker during a join.
func (r *rig) killed() {
	r.t.Helper()
	pid := r.pid()
	plan, inputs := explosion(5_000, 5)
	sink := newSink(r.account, plan, 1000)
	sink.before = func(_ context.Context, n int) error {
		if n == 2 {
			return unix.Kill(pid, unix.SIGKILL)
		}
		return nil
	}
	job, free := r.job(plan, inputs, sink)
	defer free()
	if err := r.remote.Run(r.t.Context(), job, &joincore.Stats{}); !errors.Is(err, ErrLost) {
		r.t.Error(err)
	}
}

// divided has a worker join inputs that are larger than its device, several
// times: what it sends to the host is counted towards the job, and it can do
// that without staged copies.
func divided(r *rig) {
	const rows, common = 1 << 20, 1000
	left := small(suite.Keyed(rows, func(row int) uint64 { return uint64(row + rows - common) }))
	right := small(suite.Keyed(rows, func(row int) uint64 { return uint64(row) }))
	plan, inputs, want := suite.PairPlan(left, right), []*joincore.Relation{left, right}, oracle.Rows{}
	for i := range uint64(common) {
		var row []byte
		for _, payload := range []uint64{i, i + rows - common} {
			row = oracle.AppendValue(row, binary.LittleEndian.AppendUint64(nil, payload), false)
		}
		want[string(row)]++
	}
	for round := range 3 {
		sink := newSink(r.account, plan, 1000)
		job, free := r.job(plan, inputs, sink)
		before := r.account.Used()
		at, stats := time.Now(), joincore.Stats{}
		if err := r.remote.Run(r.t.Context(), job, &stats); err != nil {
			r.t.Fatalf("round %d: %v", round, err)
		}
		r.t.Logf("round %d: %v, %+v", round, time.Since(at), stats)
		if !maps.Equal(sink.result, want) {
			r.t.Errorf("round %d: %d distinct rows, %d expected", round, len(sink.result), len(want))
		}
		if used := r.account.Used(); used != before {
			r.t.Errorf("round %d: %d bytes in use, then %d", round, before, used)
		}
		if stats.Peak < 2*8*rows { // keys of both sides, whatever goes along
			r.t.Errorf("round %d: %d bytes on the host: nothing was divided", round, stats.Peak)
		}
		free()
	}
	p, err := r.remote.current()
	if err != nil {
		r.t.Fatal(err)
	}
	now, err := p.status(r.t.Context(), time.Minute)
	if err != nil || now.devices[0].Reason != "" {
		r.t.Errorf("%+v, %v", now, err)
	}
}

// small cuts segments of columns of 8 bytes into some of which an extent of
// these tests holds several.
func small(in *joincore.Relation) *joincore.Relation {
	const most = testExtentSize / 128
	out := &joincore.Relation{Columns: in.Columns}
	for _, s := range in.Segments {
		for at := 0; at < s.Rows; at += most {
			part := joincore.Segment{Rows: min(most, s.Rows-at)}
			for _, c := range s.Columns {
				part.Columns = append(part.Columns, joincore.Vector{Values: c.Values[8*at : 8*(at+part.Rows)]})
			}
			out.Segments = append(out.Segments, part)
		}
	}
	return out
}

func deadlineOf(ctx context.Context) time.Time {
	at, _ := ctx.Deadline()
	return at
}
