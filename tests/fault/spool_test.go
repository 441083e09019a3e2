package fault

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// newSpoolDaemon starts a daemon with a budget for two jobs, which soon moves
// results that nobody reads to disk while others wait for memory.
func newSpoolDaemon(t *testing.T, limit string) *tightDaemon {
	t.Helper()
	dir := theWorld(t).Cluster.Sock
	return newTightDaemonWith(t, 2, harness.DaemonOptions{"spool-after": "50ms", "spool-limit": limit, "spool-dir": dir})
}

// hold leaves cursors open until no memory is free for another job.
func (r *tightDaemon) hold(t *testing.T) (idle []*harness.Session) {
	t.Helper()
	for range 2 {
		s := r.session(t, "begin; declare c no scroll cursor for "+theJoin)
		if got := query(t, s, "fetch 10 from c"); len(got.Rows) != 10 {
			t.Fatalf("%d rows", len(got.Rows))
		}
		idle = append(idle, s)
	}
	return idle
}

// returned checks that cursors return the rest of their rows.
func (r *tightDaemon) returned(t *testing.T, idle []*harness.Session) {
	t.Helper()
	for _, s := range idle {
		rows, err := fetchAll(s, 5000)
		if err != nil || len(rows) != 40000-10 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
		r.partOf(t, theJoin, rows)
		exec(t, s, "commit")
	}
}

const patient = "set gpujoin.queue_timeout = '30s'"

// moved returns the jobs whose results are on disk.
func (r *tightDaemon) moved(t *testing.T) []string {
	t.Helper()
	return query(t, r.session(t), "select role, database, spooled > 0 and unread >= '50ms' and age >= unread and state = 'streaming' "+
		"from gpujoin.jobs where spooled > 0").Rows
}

// Idle cursors hold the whole memory. Another query is offloaded all the same once
// their results have moved to disk, and they return all of their rows.
func TestIdleCursorsMoveToDisk(t *testing.T) {
	r := newSpoolDaemon(t, "1GB")
	idle := r.hold(t)
	if f := fallbackOf(t, r.session(t, patient), theJoin); f != "" {
		t.Errorf("the join runs natively: %s", f)
	}
	jobs := r.moved(t)
	if len(jobs) == 0 || jobs[0] != "postgres\tpostgres\tt" {
		t.Errorf("%q", jobs)
	}
	if n := query(t, r.session(t), "select spooled > 0 from gpujoin.status()").Rows[0]; n != "t" {
		t.Error("the status has no bytes on disk")
	}
	r.returned(t, idle)
	r.settles(t)
	if n := query(t, r.session(t), "select spooled from gpujoin.status()").Rows[0]; n != "0" {
		t.Errorf("%s bytes are left on disk", n)
	}
	r.unharmed(t, nil)
}

// A query that needs one row of a join for an EXISTS, and then runs for long, gives
// the join's memory back.
func TestExistsMovesToDisk(t *testing.T) {
	r := newSpoolDaemon(t, "1GB")
	exec(t, r.Witness, "select pg_advisory_lock(31)")
	var answers []<-chan answer
	for range 2 {
		s := r.session(t)
		answers = append(answers, ask(s, "select pg_advisory_xact_lock_shared(31) where exists ("+theJoin+" offset 0)"))
	}
	watch := r.session(t)
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if n := query(t, watch, "select count(*) from pg_locks where locktype = 'advisory' and not granted").Rows[0]; n == "2" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the queries do not come to their lock")
		}
	}
	if f := fallbackOf(t, r.session(t, patient), theJoin); f != "" {
		t.Errorf("the join runs natively: %s", f)
	}
	if len(r.moved(t)) == 0 {
		t.Error("no result is on disk")
	}
	exec(t, r.Witness, "select pg_advisory_unlock(31)")
	for _, a := range answers {
		if a := <-a; a.err != nil || len(a.Rows) != 1 {
			t.Errorf("%+v", a)
		}
	}
	_ = watch.Close()
	r.settles(t)
	r.unharmed(t, nil)
}

// stalled is a client that reads nothing before it may.
type stalled struct {
	may  chan struct{}
	rows strings.Builder
}

func (s *stalled) Write(b []byte) (int, error) {
	<-s.may
	return s.rows.Write(b)
}

// Clients that do not read their rows hold memory like idle cursors.
func TestSlowClientsMoveToDisk(t *testing.T) {
	point.Point{What: "does not read its rows", Process: "client", Moment: "mid result", Shape: serialJoin, Expect: "others are offloaded; " + point.AllRows}.Announce(t)
	r := newSpoolDaemon(t, "1GB")
	clients := []*stalled{{may: make(chan struct{})}, {may: make(chan struct{})}}
	done := make(chan error, len(clients))
	for _, c := range clients {
		s := r.session(t)
		go func() {
			ctx, cancel := bounded()
			defer cancel()
			_, err := s.Conn().CopyTo(ctx, c, "copy ("+theJoin+") to stdout")
			done <- err
		}()
	}
	watch := r.session(t)
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		n := query(t, watch, "select count(*) from gpujoin.jobs where state = 'streaming' and unread > '100ms'").Rows[0]
		if n == "2" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the clients do not stall")
		}
	}
	if f := fallbackOf(t, r.session(t, patient), theJoin); f != "" {
		t.Errorf("the join runs natively: %s", f)
	}
	if len(r.moved(t)) == 0 {
		t.Error("no result is on disk")
	}
	for _, c := range clients {
		close(c.may)
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	want := r.Expect(t, theJoin)
	for _, c := range clients {
		rows := strings.Split(strings.TrimSuffix(c.rows.String(), "\n"), "\n")
		if d := harness.SameRows(want, &harness.Result{Columns: want.Columns, Rows: rows}); d != "" {
			t.Error(d)
		}
	}
	_ = watch.Close()
	r.settles(t)
	r.unharmed(t, nil)
}

// If the limit on disk is reached, results stay in memory and others run natively.
func TestSpoolLimit(t *testing.T) {
	point.Point{What: "no more disk for results", Process: daemon, Moment: "mid result", Shape: "cursors over joins", Expect: "others run natively; " + point.AllRows}.Announce(t)
	r := newSpoolDaemon(t, "64kB")
	idle := r.hold(t)
	if f := fallbackOf(t, r.session(t, "set gpujoin.queue_timeout = '500ms'"), theJoin); f == "" {
		t.Error("the join was offloaded although the cursors have the memory")
	}
	r.returned(t, idle)
	r.settles(t)
	r.unharmed(t, nil)
}

// A daemon that is killed leaves no file, and the cursors end with an error.
func TestKilledWithResultsOnDisk(t *testing.T) {
	point.Point{What: "killed", Process: daemon, Moment: "results are on disk", Shape: "cursors over joins", Expect: point.Lost + "; no file is left"}.Announce(t)
	r := newSpoolDaemon(t, "1GB")
	before := names(t, r.Cluster.Sock)
	idle := r.hold(t)
	if f := fallbackOf(t, r.session(t, patient), theJoin); f != "" {
		t.Errorf("the join runs natively: %s", f)
	}
	if len(r.moved(t)) == 0 {
		t.Error("no result is on disk")
	}
	if err := r.d.Kill(); err != nil {
		t.Fatal(err)
	}
	if now := names(t, r.Cluster.Sock); now != before {
		t.Errorf("%s\ninstead of\n%s", now, before)
	}
	for _, s := range idle {
		_, err := fetchAll(s, 5000)
		lost(t, err)
		if err := s.Exec(context.Background(), "rollback"); err != nil {
			t.Error(err)
		}
	}
	r.unharmed(t, nil)
}

// names returns the names of a directory's files.
func names(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(files)
}
