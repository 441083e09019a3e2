package fault

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// tightDaemon is a separate daemon with a budget for a few jobs.
type tightDaemon struct {
	*world
	d    *harness.Daemon
	need int64 // bytes that one job for theJoin reserves
}

// jobBytes returns the bytes that a serial job for theJoin reserves.
func (w *world) jobBytes(t *testing.T) int64 {
	t.Helper()
	s := w.Session(t, forced, serial, "begin; declare c no scroll cursor for "+theJoin, "fetch 1 from c")
	defer s.Close()
	r := reportOf(t, s)
	if len(r.Jobs) != 1 || r.Reserved <= 0 {
		t.Fatalf("one open cursor, but %+v", r)
	}
	return r.Reserved
}

// newTightDaemon starts a daemon with a budget for the given number of jobs.
func newTightDaemon(t *testing.T, jobs int) *tightDaemon {
	t.Helper()
	return newTightDaemonWith(t, jobs, nil)
}

// newTightDaemonWith does the same with further options.
func newTightDaemonWith(t *testing.T, jobs int, more harness.DaemonOptions) *tightDaemon {
	t.Helper()
	w := theWorld(t)
	r := &tightDaemon{world: w, need: w.jobBytes(t)}
	options := harness.DaemonOptions{"memory-warm": "2MB"}
	maps.Copy(options, more)
	// A job reserves more if it turns out larger; half a job's reservation is
	// added for that.
	options["memory-budget"] = strconv.FormatInt(int64(jobs)*r.need+r.need/2, 10) + "B"
	r.d = w.daemonWith(t, "tight", options)
	return r
}

func (r *tightDaemon) session(t testing.TB, settings ...string) *harness.Session {
	t.Helper()
	return r.world.Session(t, append([]string{forced, serial, "set gpujoin.socket = '" + r.d.Socket + "'"}, settings...)...)
}

// watch samples the daemon's account until the returned function is called,
// which returns the maxima.
func (r *tightDaemon) watch(t *testing.T) (stop func() (reserved, queued int64)) {
	t.Helper()
	s := r.session(t)
	done, ended := make(chan struct{}), make(chan struct{})
	var reserved, queued int64
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			result, err := s.Query(ctx, "select budget, reserved, used, pool, queued from gpujoin.status()")
			cancel()
			if err != nil {
				t.Error(err)
				return
			}
			var v [5]int64
			if n, err := fmt.Sscan(strings.ReplaceAll(result.Rows[0], "\t", " "), &v[0], &v[1], &v[2], &v[3], &v[4]); n != 5 {
				t.Errorf("%q: %v", result.Rows[0], err)
				return
			}
			if v[1] > v[0] || v[2] > v[0] || v[3] > v[0] {
				t.Errorf("of %d bytes %d are reserved, %d used, and %d in extents", v[0], v[1], v[2], v[3])
			}
			reserved, queued = max(reserved, v[1]), max(queued, v[4])
		}
	}()
	return func() (int64, int64) {
		close(done)
		<-ended
		_ = s.Close()
		return reserved, queued
	}
}

// settles checks that the daemon holds nothing.
func (r *tightDaemon) settles(t *testing.T) {
	t.Helper()
	s := r.session(t)
	defer s.Close()
	settled(t, s)
}

// Sixteen clients with a budget for four: they queue, all rows are right, and
// the budget holds.
func TestSixteenClientsUnderABudgetForFour(t *testing.T) {
	r := newTightDaemon(t, 4)
	expected := r.Expect(t, theJoin)
	stop := r.watch(t)
	var clients sync.WaitGroup
	for i := range 16 {
		// Half of them wait as long as necessary, the others soon run natively.
		s := r.session(t, fmt.Sprintf("set gpujoin.queue_timeout = '%d'", []int{60000, 20}[i%2]))
		clients.Go(func() {
			for range 3 {
				a := <-ask(s, theJoin)
				if a.err != nil {
					t.Errorf("client %d: %v", i, a.err)
				} else if d := harness.SameRows(expected, a.Result); d != "" {
					t.Errorf("client %d: %s", i, d)
				}
			}
		})
	}
	clients.Wait()
	if reserved, queued := stop(); queued == 0 || reserved < 3*r.need {
		t.Errorf("at most %d bytes were reserved and %d clients queued: that was no crowd", reserved, queued)
	}
	r.settles(t)
	r.unharmed(t, nil)
}

// Parallel nodes under a budget: their workers attach to the job for which the
// leader queued.
func TestParallelClientsUnderABudget(t *testing.T) {
	r := newTightDaemon(t, 4)
	expected := r.Expect(t, theJoin)
	stop := r.watch(t)
	var clients sync.WaitGroup
	for i := range 6 {
		s := r.session(t, "set max_parallel_workers_per_gather = 2; set gpujoin.queue_timeout = '60s'")
		clients.Go(func() {
			for range 2 {
				a := <-ask(s, theJoin)
				if a.err != nil {
					t.Errorf("client %d: %v", i, a.err)
				} else if d := harness.SameRows(expected, a.Result); d != "" {
					t.Errorf("client %d: %s", i, d)
				}
			}
		})
	}
	clients.Wait()
	stop()
	r.settles(t)
	r.unharmed(t, nil)
}

// Idle cursors hold the whole budget: others wait for their queue timeout and
// run natively, or are admitted once a cursor closes.
func TestIdleCursorsHoldTheBudget(t *testing.T) {
	r := newTightDaemon(t, 2)
	var idle []*harness.Session
	for range 2 {
		s := r.session(t, "begin; declare c no scroll cursor for "+theJoin)
		if got := query(t, s, "fetch 10 from c"); len(got.Rows) != 10 {
			t.Fatalf("%d rows", len(got.Rows))
		}
		idle = append(idle, s)
	}
	if n := len(reportOf(t, r.session(t)).Jobs); n != 2 {
		t.Fatalf("%d jobs are held instead of 2", n)
	}

	// With no or a short timeout they run natively.
	for _, timeout := range []string{"0", "50ms"} {
		s := r.session(t, "set gpujoin.queue_timeout = '"+timeout+"'")
		ctx, cancel := bounded()
		plan, err := s.Explain(ctx, "analyze, timing off", theJoin)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if joins := plan.OffloadJoins(); len(joins) != 1 || joins[0].Text("Fallback") == "" {
			t.Errorf("queue timeout %s: no OffloadJoin that fell back: %v", timeout, joins)
		}
		r.right(t, theJoin, <-ask(s, theJoin))
	}

	// The holders themselves never queue, whatever their timeout, because only
	// they could free memory.
	exec(t, idle[0], "set gpujoin.queue_timeout = '10min'")
	r.right(t, theJoin, soon(t, ask(idle[0], theJoin)))

	// A waiting session is admitted when a cursor closes.
	s := r.session(t, "set gpujoin.queue_timeout = '60s'")
	joins := reportOf(t, r.session(t)).Totals.Joins
	done := ask(s, theJoin)
	waiting := r.session(t)
	for deadline := time.Now().Add(patience); reportOf(t, waiting).Queued == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody queues")
		}
	}
	exec(t, idle[1], "close c")
	r.right(t, theJoin, <-done)
	if now := reportOf(t, waiting).Totals.Joins; now <= joins {
		t.Error("who waited was not offloaded")
	}

	// A waiting session can be cancelled; one whose client disconnects is forgotten.
	exec(t, idle[1], "commit; begin; declare c no scroll cursor for "+theJoin+"; fetch 10 from c")
	exec(t, s, "set statement_timeout = '100ms'")
	ended(t, (<-ask(s, theJoin)).err, "57014")
	// The daemon hears of it behind the client.
	for deadline := time.Now().Add(patience); reportOf(t, waiting).Queued > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a session is queued after the only one was cancelled")
		}
	}

	// The cursors return all of their rows.
	for _, s := range idle {
		rows, err := fetchAll(s, 5000)
		if err != nil || len(rows) != 40000-10 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
		r.partOf(t, theJoin, rows)
		exec(t, s, "commit")
	}
	_ = waiting.Close()
	r.settles(t)
	r.unharmed(t, s)
}

// Two jobs in one plan need twice the budget: the second runs natively instead
// of waiting for the first for ever.
func TestTwoJobsInOnePlanUnderABudgetForOne(t *testing.T) {
	r := newTightDaemon(t, 1)
	// The outer join's rows are fetched one by one while the inner one runs.
	const sql = "select a.id, a.name, b.v from (" +
		"select f.id, t.name, d.note from fact f join tiny t on f.g = t.g join dim d on f.k = d.k where f.id <= 2000 offset 0) a " +
		"left join (select f.id, d.v, d.note from fact f join dim d on f.k = d.k offset 0) b on a.id = b.id"
	var clients sync.WaitGroup
	expected := r.Expect(t, sql)
	for i := range 4 {
		s := r.session(t, "set gpujoin.queue_timeout = '5s'")
		clients.Go(func() {
			for range 2 {
				a := <-ask(s, sql)
				if a.err != nil {
					t.Errorf("client %d: %v", i, a.err)
				} else if d := harness.SameRows(expected, a.Result); d != "" {
					t.Errorf("client %d: %s", i, d)
				}
			}
		})
	}
	clients.Wait()
	r.settles(t)
	r.unharmed(t, nil)
}

// fallsBack checks that a query's join is planned for the daemon, but runs natively.
func (r *tightDaemon) fallsBack(t *testing.T, s *harness.Session, sql string) {
	t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	plan, err := s.Explain(ctx, "analyze, timing off", sql)
	if err != nil {
		t.Fatal(err)
	}
	if joins := plan.OffloadJoins(); len(joins) != 1 || joins[0].Text("Fallback") == "" {
		t.Errorf("no OffloadJoin that fell back: %v", joins)
	}
	r.right(t, sql, soon(t, ask(s, sql)))
}

// A job that can never fit the budget does not queue.
func TestMoreThanTheBudget(t *testing.T) {
	point.Point{What: "no memory for any job", Process: daemon, Moment: "queue", Shape: "join, serial and parallel", Expect: point.AllRows}.Announce(t)
	r := newTightDaemon(t, 0)
	for _, workers := range []int{0, 2} {
		s := r.session(t, fmt.Sprintf("set gpujoin.queue_timeout = '10min'; set max_parallel_workers_per_gather = %d", workers))
		r.fallsBack(t, s, theJoin)
	}
	r.settles(t)
	r.unharmed(t, nil)
}

// A job outgrows the budget while it is fed, because the planner underestimates
// a condition that all rows pass.
func TestOutgrowingTheBudget(t *testing.T) {
	point.Point{What: "no more memory for the job", Process: daemon, Moment: "mid feed", Shape: "join, serial and parallel", Expect: point.AllRows}.Announce(t)
	r := newTightDaemon(t, 1)
	exec(t, r.Witness, "create table wide as select i % 5000 as k, repeat('w', 1000) as note from generate_series(1::int8, 30000) i")
	exec(t, r.Witness, "vacuum analyze wide")
	defer exec(t, r.Witness, "drop table wide")
	for _, workers := range []int{0, 2} {
		s := r.session(t, fmt.Sprintf("set gpujoin.queue_timeout = '10min'; set max_parallel_workers_per_gather = %d", workers))
		r.fallsBack(t, s, "select count(*), sum(length(w.note)), sum(length(d.note)) from wide w join dim d on w.k = d.k where w.k - w.k = 0")
	}
	r.settles(t)
	r.unharmed(t, nil)
}

// A daemon that stops gracefully finishes running jobs and admits no more.
func TestGracefulStopUnderLoad(t *testing.T) {
	point.Point{What: "terminated (SIGTERM)", Process: daemon, Moment: "an open cursor", Shape: serialJoin, Expect: point.AllRows}.Announce(t)
	r := newTightDaemon(t, 4)
	holder := r.session(t, "begin; declare c no scroll cursor for "+theJoin, "fetch 10 from c")
	stopped := make(chan error, 1)
	go func() { stopped <- r.d.Stop() }()
	// Others run natively from now on, at the latest when the daemon refuses them.
	s := r.session(t)
	for range 10 {
		r.right(t, theSum, <-ask(s, theSum))
	}
	rows, err := fetchAll(holder, 5000)
	if err != nil || len(rows) != 40000-10 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	exec(t, holder, "commit")
	select {
	case err := <-stopped:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the daemon does not stop")
	}
	r.right(t, theSum, <-ask(s, theSum))
	r.unharmed(t, s)
}
