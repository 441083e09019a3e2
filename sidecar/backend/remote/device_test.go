package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/runtest"

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
	r := start(t, "", func(config *Config) {
		config.Path, config.Args, config.Timing = program, []string{"--memory", "8GB"}, DefaultTiming
	})
	at := time.Now()
	r.ready()
	t.Logf("ready after %v: %+v", time.Since(at), r.remote.Devices())

	t.Run("trees", func(t *testing.T) {
		r := *r
		r.t = t
		for seed := range uint64(100) {
			plan, inputs := runtest.RandomTree(seed, 3)
			r.compare(fmt.Sprint("seed ", seed), plan, inputs, []int{7, 100, 1000}[seed%3])
		}
	})
	t.Run("matrix", func(t *testing.T) {
		r := *r
		r.t = t
		for p := range runtest.Plans(500) {
			r.compare(p.Name, p.Plan, p.Inputs, p.Batch)
		}
	})
	t.Run("concurrent", func(t *testing.T) {
		for i := range uint64(4) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				r := *r
				r.t = t
				for seed := range uint64(10) {
					plan, inputs := runtest.RandomTree(1000+10*i+seed, 2)
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
		if !errors.Is(err, context.DeadlineExceeded) || stopped > time.Second || sink.open != 0 {
			t.Errorf("%v, %v after it was cancelled, %d batches open", err, stopped, sink.open)
		}
		t.Logf("stopped %v after it was cancelled", stopped)
	})
	t.Run("killed", func(t *testing.T) {
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
		at := time.Now()
		if err := r.remote.Run(t.Context(), job, &joincore.Stats{}); !errors.Is(err, ErrLost) {
			t.Error(err)
		}
		t.Logf("gone after %v", time.Since(at))
		r.eventually("another one serves", func() bool { return r.another(pid) })
		t.Logf("another one serves after %v", time.Since(at))
		plan, inputs = runtest.RandomTree(5, 2)
		r.compare("afterwards", plan, inputs, 10)
	})
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

func deadlineOf(ctx context.Context) time.Time {
	at, _ := ctx.Deadline()
	return at
}
