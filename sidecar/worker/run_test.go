package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/suite"

	"golang.org/x/sys/unix"
)

// TestTrees runs random plans of all kinds through a child, with the cpu
// provider and with one whose memory is apart, and compares with the oracle.
func TestTrees(t *testing.T) {
	for _, mode := range []string{"cpu", "separate", "bulk"} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, mode, nil).ready()
			n := uint64(60)
			if testing.Short() {
				n = 10
			}
			for seed := range n {
				plan, inputs := suite.RandomTree(seed, 3)
				r.compare(fmt.Sprint("seed ", seed), plan, inputs, []int{1, 7, 1000}[seed%3])
			}
			if u := r.store.Usage(); u.Extents > 100 {
				t.Errorf("%+v", u)
			}
		})
	}
}

// TestMatrix runs joins of all kinds over all types of keys through a child.
func TestMatrix(t *testing.T) {
	// Memory that is apart copies a whole extent with every chunk.
	for mode, n := range map[string]int{"cpu": 300, "bulk": 20} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, mode, nil).ready()
			for p := range suite.Plans(n) {
				if join, ok := p.Plan.Root.(*joincore.Join); ok && len(join.Keys) == 0 {
					continue // which no job has
				}
				r.compare(p.Name, p.Plan, p.Inputs, p.Batch)
			}
		})
	}
}

// compare runs a plan, compares the rows with the oracle's, and returns the
// run's statistics.
func (r *rig) compare(name string, plan *joincore.Plan, inputs []*joincore.Relation, batch int) joincore.Stats {
	r.t.Helper()
	want, err := oracle.Run(plan, inputs)
	if err != nil {
		r.t.Fatal(err)
	}
	sink := newSink(r.account, plan, batch)
	job, free := r.job(plan, inputs, sink)
	defer free()
	var stats joincore.Stats
	if err := r.remote.Run(r.t.Context(), job, &stats); err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	if !maps.Equal(sink.result, want) {
		r.t.Errorf("%s: %d distinct rows, %d expected", name, len(sink.result), len(want))
	}
	if stats.Provider != "test" || len(stats.Joins) != len(joincore.Joins(plan.Root)) || sink.open != 0 {
		r.t.Errorf("%s: %+v, %d batches open", name, stats, sink.open)
	}
	return stats
}

// TestNoColumns counts rows that have no columns, as count(*) does.
func TestNoColumns(t *testing.T) {
	r := start(t, "cpu", nil).ready()
	plan, inputs := explosion(100, 10)
	plan.Output = nil
	r.compare("no columns", plan, inputs, 300)
}

// explosion is a join whose result is large.
func explosion(rows, keys int) (*joincore.Plan, []*joincore.Relation) {
	relation := suite.Keyed(rows, func(row int) uint64 { return uint64(row % keys) })
	return suite.PairPlan(relation, relation), []*joincore.Relation{relation, relation}
}

// TestConcurrent runs many jobs in one child at a time.
func TestConcurrent(t *testing.T) {
	r := start(t, "cpu", nil).ready()
	t.Run("jobs", func(t *testing.T) {
		for i := range 8 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(5) {
					plan, inputs := suite.RandomTree(seed*8+uint64(i), 2)
					r.compare(fmt.Sprint("seed ", seed), plan, inputs, 100)
				}
			})
		}
	})
}

// TestCancel: a job ends when it is cancelled, whatever it waits for, long
// before its result does, and its memory is free.
func TestCancel(t *testing.T) {
	r := start(t, "cpu", nil).ready()
	plan, inputs := explosion(20_000, 4)
	for _, waits := range []bool{false, true} {
		name := map[bool]string{false: "while it produces", true: "while the sink waits"}[waits]
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("the query was cancelled")
		sink := newSink(r.account, plan, 1000)
		sink.before = func(ctx context.Context, n int) error {
			if n != 3 {
				return nil
			}
			cancel(cause)
			if !waits {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		job, free := r.job(plan, inputs, sink)
		err := r.remote.Run(ctx, job, &joincore.Stats{})
		if !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if n := sink.emitted(); n > 100 { // of 100,000
			t.Errorf("%s: %d batches were emitted", name, n)
		}
		if sink.open != 0 {
			t.Errorf("%s: %d batches are open", name, sink.open)
		}
		free()
		r.idle()
	}
	if err := r.remote.Ready(); err != nil {
		t.Error("cancelling has cost the child: ", err)
	}
}

// TestSinkFails: an error of the sink comes back as it is.
func TestSinkFails(t *testing.T) {
	r := start(t, "cpu", nil).ready()
	plan, inputs := explosion(5_000, 50)
	errSink := errors.New("sink failed")
	for at := range 5 {
		sink := newSink(r.account, plan, 500)
		sink.before = func(_ context.Context, n int) error {
			if n == at {
				return errSink
			}
			return nil
		}
		job, free := r.job(plan, inputs, sink)
		if err := r.remote.Run(t.Context(), job, &joincore.Stats{}); !errors.Is(err, errSink) {
			t.Errorf("batch %d: %v", at, err)
		}
		free()
		r.idle()
	}
}

// TestRefusedAhead: a batch that the child has requested ahead and does not need may be refused.
func TestRefusedAhead(t *testing.T) {
	r := start(t, "cpu", nil).ready()
	plan, inputs := explosion(100, 10) // 1000 rows: 10 batches, and one that each stream fills partly
	for _, c := range []struct {
		batches int
		refused bool
	}{{16, false}, {5, true}} {
		sink := newSink(r.account, plan, 100)
		sink.refuseAfter = c.batches
		job, free := r.job(plan, inputs, sink)
		err := r.remote.Run(t.Context(), job, &joincore.Stats{})
		if errors.Is(err, errRefusal) != c.refused || err != nil && !c.refused || sink.open != 0 {
			t.Errorf("%d batches: %v, %d open", c.batches, err, sink.open)
		}
		if sink.refusals == 0 {
			t.Error("the child has requested nothing ahead")
		}
		free()
		r.idle()
	}
	if err := r.remote.Ready(); err != nil {
		t.Error(err)
	}
}

// TestNoRoom: a batch or memory that exceeds the budget fails the job, not the
// child.
func TestNoRoom(t *testing.T) {
	r := start(t, "job hungry", nil).ready()
	plan, inputs := explosion(100, 10)
	sink := newSink(r.account, plan, 10)
	job, free := r.job(plan, inputs, sink)
	if err := r.remote.Run(t.Context(), job, &joincore.Stats{}); !errors.Is(err, joincore.ErrBudget) {
		t.Error(err)
	}
	if used, peak := r.account.Used(), r.account.Peak(); peak < testBudget*3/4 || used > 8<<20 {
		t.Errorf("%d bytes at most, %d now", peak, used)
	}
	free()
	if err := r.remote.Ready(); err != nil {
		t.Error(err)
	}
}

// TestForeignRows: rows that do not lie in extents cannot be sent.
func TestForeignRows(t *testing.T) {
	r := start(t, "cpu", nil).ready()
	plan, inputs := explosion(10, 2)
	job, free := r.job(plan, inputs, newSink(r.account, plan, 10))
	defer free()
	job.Inputs = inputs
	if err := r.remote.Run(t.Context(), job, &joincore.Stats{}); !errors.Is(err, joincore.ErrUnsupported) {
		t.Error(err)
	}
}

// TestKilled: whatever phase it is killed in, the job ends with ErrLost, after
// which nothing of the child touches its memory, and a new child serves.
func TestKilled(t *testing.T) {
	r := start(t, "cpu", nil)
	plan, inputs := explosion(5_000, 5)
	for at := range 4 {
		r.ready()
		old := r.pid()
		sink := newSink(r.account, plan, 1000)
		sink.before = func(_ context.Context, n int) error {
			if n == at {
				return unix.Kill(old, unix.SIGKILL)
			}
			return nil
		}
		job, free := r.job(plan, inputs, sink)
		err := r.remote.Run(t.Context(), job, &joincore.Stats{})
		if !errors.Is(err, ErrLost) || sink.open != 0 {
			t.Errorf("batch %d: %v, %d open", at, err, sink.open)
		}
		if err := unix.Kill(old, 0); !errors.Is(err, unix.ESRCH) {
			t.Errorf("batch %d: the process is still there: %v", at, err)
		}
		free()
		r.idle()
		r.eventually("another child serves", func() bool { return r.another(old) })
	}
	plan, inputs = suite.RandomTree(5, 2)
	r.compare("afterwards", plan, inputs, 10)
	if n := r.remote.Devices()[0].Restarts; n != 4 {
		t.Errorf("%d restarts", n)
	}
}
