package source

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/source"
	"gpujoin/tests/harness/point"
)

const ledger = `
	create table ledger (id int primary key, amount bigint not null, note text);
	insert into ledger select i, i, repeat('n', 100) from generate_series(1, 5000) i;
	create table other (id int primary key, v int);
	insert into other select i, i from generate_series(1, 100) i;`

// senders returns a condition on the stream's process at the source.
const senders = "from pg_stat_replication r join pg_stat_activity a using (pid) where a.datname = current_database()"

// write keeps changing the ledger until the returned function is called. Errors of a lost
// connection are ignored: it connects again.
func (w *world) write() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for n := range 2 {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				s, err := w.cluster.ConnectAs(ctx, "postgres", w.database)
				if err != nil {
					time.Sleep(50 * time.Millisecond)
					continue
				}
				for ; err == nil && ctx.Err() == nil; i++ {
					id := 10000 + n*1000000 + i
					err = s.Exec(context.Background(), fmt.Sprintf(`update ledger set amount = amount + 1, note = null where id between %d and %d + 20;
						insert into ledger values (%d, 0, 'new'); update ledger set id = -id where id = %d; delete from ledger where id = -%d`,
						(i*37+n*13)%4900, (i*37+n*13)%4900, id, id, id-50))
				}
				_ = s.Close() // it may be broken
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// fault is what happens to a source while it is mirrored and written to.
type fault struct {
	name      string
	permanent bool // the session's slot
	strike    func(t *testing.T, w *world)
	resets    int // of all mirrors
}

var faults = []fault{
	{"sender terminated", false, terminate, 1},
	{"sender terminated, permanent slot", true, terminate, 0},
	{"restart", false, restart(syscall.SIGINT), 1},
	{"restart, permanent slot", true, restart(syscall.SIGINT), 0},
	{"crash, permanent slot", true, restart(syscall.SIGQUIT), 0},
	{"sender stopped", false, freeze, 1},
	{"slot dropped", true, func(t *testing.T, w *world) {
		// The session may connect again before the slot is dropped.
		eventually(t, "the slot is dropped", func() bool {
			terminate(t, w)
			return w.sql.Exec(bounded(t), "select pg_drop_replication_slot('kept')") == nil
		})
	}, 1},
	{"publication dropped", false, func(t *testing.T, w *world) { w.exec("drop publication gpujoin") }, -1},
	{"publication dropped, permanent slot", true, func(t *testing.T, w *world) { w.exec("drop publication gpujoin") }, -1},
}

func terminate(t *testing.T, w *world) {
	w.exec("select pg_terminate_backend(pid) " + senders)
}

func restart(how syscall.Signal) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		if err := w.cluster.Server().Stop(30*time.Second, how, syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		if err := w.cluster.Start(); err != nil {
			t.Fatal(err)
		}
		w.sql = w.connect()
	}
}

// freeze stops the process that sends the stream: nothing is closed, and nothing arrives.
func freeze(t *testing.T, w *world) {
	var pid int
	if _, err := fmt.Sscan(w.one("select pid "+senders), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the session gives the connection up", func() bool {
		resets := 0
		w.locked(func() { resets = w.recorder.resets })
		return resets > 0
	})
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// After each fault the mirrors are the source's tables again, without a step in between
// that a query could see.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			point.Point{What: f.name, Process: "source server", Moment: "the stream runs, others write", Shape: "mirror", Expect: "the mirror is the table again"}.Announce(t)
			w := newWorld(t, newCluster(t, nil), ledger)
			server, mirrors := newMirrors(t)
			w.target = &both{w.recorder, mirrors}
			o := source.Options{Silence: 3 * time.Second}
			if f.permanent {
				o.Slot = "kept"
			}
			w.open(o)
			w.mirror("ledger", "other")
			stop := w.write()
			defer stop()
			time.Sleep(300 * time.Millisecond)
			f.strike(t, w)
			time.Sleep(300 * time.Millisecond)
			stop()
			// What the fault ends is seen within a second.
			time.Sleep(1500 * time.Millisecond)
			w.ready("ledger", "other")
			w.same("ledger", "other")
			pin := server.Pin()
			defer pin.Close()
			r, err := pin.Relation(w.oid("ledger"), []int{0, 1})
			if err != nil {
				t.Fatal(err)
			}
			var rows, sum int64
			each(&r, func(c []joincore.Vector, row int) { rows, sum = rows+1, sum+int8of(&c[1], row)*int64(int4(&c[0], row)) })
			if want := w.one("select count(*) || ' ' || sum(id * amount) from ledger"); want != fmt.Sprint(rows, " ", sum) {
				t.Errorf("the mirror has %d rows and the sum %d instead of %s", rows, sum, want)
			}
			if n := w.recorder.resets; f.resets >= 0 && n != f.resets {
				t.Errorf("%d resets instead of %d", n, f.resets)
			}
		})
	}
}

// alteration is a change of a table of which the stream tells nothing.
type alteration struct {
	sql  string
	rows int    // of t afterwards; -1: the mirror has failed
	more string // values of a row behind that of id
}

// A table that is altered is loaded anew; the others are left alone.
func TestAlterations(t *testing.T) {
	for _, a := range []alteration{
		{"alter table t rename column v to w", 100, ", 1000"},
		{"alter table t drop column v", 100, ""},
		{"alter table t alter column v type bigint using v + 1", 100, ", 1000"},
		{"alter table t alter column v type int using v + 1", 100, ", 1000"},
		{"alter publication gpujoin drop table t; update t set v = -v; alter publication gpujoin add table t", 100, ", 1000"},
		{"drop table t; create table t (id int primary key, v int); insert into t values (1, 1)", 1, ", 1000"},
		{"alter table t drop constraint t_pkey, add primary key (v)", 100, ", 1000"},
		{"drop table t", -1, ""},
		{"alter table t replica identity full", -1, ""},
		{"alter table t rename to u", -1, ""},
	} {
		t.Run(a.sql, func(t *testing.T) {
			point.Point{What: a.sql, Process: "source server", Moment: "the stream runs", Shape: "mirror", Expect: "the mirror is the table again, or says why not; others are left alone"}.Announce(t)
			w := newWorld(t, shared, `create table t (id int primary key, v int not null); insert into t select i, i from generate_series(1, 100) i;
				create table other (id int primary key, v int); insert into other select i, i from generate_series(1, 100) i;`)
			w.open(source.Options{})
			w.mirror("t", "other")
			var old *recorded
			w.locked(func() { old = w.recorder.tables["public.t"] })
			w.exec(a.sql)
			eventually(t, "the table is loaded anew", func() bool {
				var now *recorded
				w.locked(func() { now = w.recorder.tables["public.t"] })
				return now != old && (now != nil) == (a.rows >= 0)
			})
			if a.rows >= 0 {
				w.exec("insert into t values (1000" + a.more + ")")
				w.same("t")
				if n := len(w.recorder.rowsOf("public.t")); n != a.rows+1 {
					t.Errorf("%d rows", n)
				}
			} else {
				eventually(t, "the table has failed", func() bool {
					s := w.session.Status()
					return s.State == source.StateReady && s.Tables[1].State == source.StateFailed && s.Tables[1].Reason != nil
				})
			}
			w.exec("update other set v = v + 1")
			w.same("other")
			if w.recorder.resets > 0 {
				t.Error("all mirrors were reset")
			}
		})
	}
}

func (w *world) locked(f func()) {
	w.recorder.mu.Lock()
	defer w.recorder.mu.Unlock()
	f()
}

// A table that is rewritten between the look at the catalogue and the loaders' locks would
// look empty under the snapshot.
func TestRewrittenBeforeTheLoad(t *testing.T) {
	w := newWorld(t, shared, ledger)
	begins := 0
	w.recorder.begins = func() {
		if begins++; begins == 1 {
			w.exec("alter table ledger alter column amount type bigint using amount + 7")
		}
	}
	w.open(source.Options{})
	w.session.Mirror(names("ledger")...)
	eventually(t, "the load is given up", func() bool {
		tables := w.session.Status().Tables
		return tables[0].Reason != nil && strings.Contains(tables[0].Reason.Error(), "rewritten")
	})
	w.ready("ledger")
	w.same("ledger")
}

// The source's disk comes first: a slot that holds back too much is dropped.
func TestRetainedWAL(t *testing.T) {
	point.Point{What: "the slot holds back too much WAL", Process: "source server", Moment: "the mirror stands still", Shape: "mirror", Expect: "the slot is dropped, the mirror is loaded again", Limit: 120}.Announce(t)
	for _, slot := range []string{"", "kept"} {
		w := newWorld(t, newCluster(t, nil), ledger)
		w.open(source.Options{Slot: slot, MaxRetainedWAL: 20 << 20})
		w.mirror("ledger")
		w.locked(func() { // the target stands still
			w.exec("update ledger set amount = amount + 1")
			for range 20 {
				w.exec("insert into other select i, i from generate_series(1000, 20000) i; delete from other where id >= 1000; checkpoint")
			}
			eventually(t, "the slot is dropped", func() bool { return w.one("select count(*) from pg_replication_slots") == "0" })
		})
		eventually(t, "the mirror is loaded anew", func() bool {
			resets := 0
			w.locked(func() { resets = w.recorder.resets })
			return resets == 1 && w.session.Status().State == source.StateReady
		})
		w.same("ledger")
	}
}

// A refusal is tried again: who repairs the source needs not tell the daemon.
func TestRepaired(t *testing.T) {
	w := newWorld(t, shared, roles+"revoke select on t from poor")
	k := w.keywords()
	k["user"] = "poor"
	w.open(source.Options{Keywords: k})
	w.session.Mirror(names("t")...)
	ctx := bounded(t)
	for _, repair := range []struct{ reason, sql string }{
		{"publication does not exist", "create publication gpujoin for table other"},
		{"may not read", "grant select on t to poor"},
		{"not in the publication", "alter publication gpujoin add table t"},
	} {
		if repair.sql == "create publication gpujoin for table other" {
			w.exec("create table other (id int primary key)")
		}
		eventually(t, repair.reason, func() bool {
			err := w.session.Wait(ctx, names("t")[0])
			return err == nil || strings.Contains(err.Error(), repair.reason)
		})
		w.exec(repair.sql)
	}
	eventually(t, "the table is mirrored", func() bool { return w.session.Wait(ctx, names("t")[0]) == nil })
	w.same("t")
}

// A transaction that stays open delays the stream; the status says so.
func TestOpenTransaction(t *testing.T) {
	w := newWorld(t, newCluster(t, nil), ledger)
	w.exec("begin; update other set v = 1")
	w.open(source.Options{})
	w.session.Mirror(names("ledger")...)
	eventually(t, "the reason of the wait", func() bool {
		s := w.session.Status()
		return s.State == source.StateConnecting && s.Reason != nil && strings.Contains(s.Reason.Error(), "open before")
	})
	w.exec("commit")
	w.ready("ledger")
	w.exec("begin; update ledger set amount = 1 where id = 1")
	w.session.Mirror(names("other")...)
	eventually(t, "the reason of the load's wait", func() bool {
		s := w.session.Status()
		return s.State == source.StateLoading && s.Tables[1].Reason != nil && strings.Contains(s.Tables[1].Reason.Error(), "open before")
	})
	w.exec("commit")
	w.ready("ledger", "other")
	w.same("ledger", "other")
	if s := w.session.Status(); s.Reason != nil || s.Tables[1].Reason != nil {
		t.Errorf("%+v", s)
	}
}

// A closed session leaves nothing at the source.
func TestCloseLeavesNothing(t *testing.T) {
	w := newWorld(t, newCluster(t, nil), ledger)
	w.open(source.Options{})
	w.session.Mirror(names("ledger")...)
	time.Sleep(20 * time.Millisecond) // somewhere in the load
	w.session.Close()
	w.open(source.Options{})
	w.mirror("ledger")
	w.barrier()
	w.session.Close()
	eventually(t, "no slot and no connection", func() bool {
		return w.one("select (select count(*) from pg_replication_slots) + (select count(*) from pg_stat_activity where application_name = 'gpujoin')") == "0"
	})
}

// A table that is no longer wanted is dropped, and can be mirrored again.
func TestForget(t *testing.T) {
	w := newWorld(t, shared, ledger)
	w.open(source.Options{})
	w.mirror("ledger", "other")
	w.session.Forget(names("other")...)
	w.mirror("other") // at once
	w.same("other")
	w.session.Forget(names("other")...)
	eventually(t, "the mirror is gone", func() bool { return w.recorder.rowsOf("public.other")[0] == "not joined" })
	w.exec("update other set v = 0; update ledger set amount = 0")
	w.same("ledger")
	w.mirror("other")
	w.same("other", "ledger")
}

// A session that awaits an exclusive lock does not lock up the load that it waits for.
func TestExclusiveLockDuringLoad(t *testing.T) {
	w := newWorld(t, shared, ledger)
	other := w.connect()
	altered := make(chan error, 1)
	var once sync.Once
	w.recorder.batches = func() {
		once.Do(func() {
			go func() { altered <- other.Exec(bounded(t), "alter table ledger drop column note") }()
			eventually(t, "the other session waits", func() bool {
				return w.one("select count(*) from pg_locks where not granted") != "0"
			})
		})
	}
	w.open(source.Options{Loaders: 3})
	w.session.Mirror(names("ledger")...)
	if err := <-altered; err != nil {
		t.Fatal(err)
	}
	eventually(t, "the altered table is mirrored", func() bool {
		rows := w.recorder.rowsOf("public.ledger")
		return len(rows) == 5000 && len(strings.Fields(rows[0])) == 2
	})
	w.same("ledger")
}
