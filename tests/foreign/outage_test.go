package foreign

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
	"gpujoin/tests/harness/point"
)

// pair joins two foreign tables.
const pair = "select count(*), sum(debit.amount), sum(credit.amount), max(note) from src.debit join src.credit using (id)"

// outages are what happens to a source, to the way there, or to the daemon, while a session
// queries mirrored tables. Each returns when it is over, except for its consequences.
var outages = []struct {
	name, process string
	strike        func(o *outage)
}{
	{"its sender is terminated", "source server", func(o *outage) { o.atSource("select pg_terminate_backend(pid) from pg_stat_replication") }},
	{"its sender is stopped for 4 s", "source server", (*outage).stopSender},
	{"the slot is dropped", "source server", (*outage).dropSlot},
	{"the publication is dropped", "source server", func(o *outage) { o.atSource("drop publication gpujoin") }},
	{"a table leaves the publication", "source server", func(o *outage) { o.atSource("alter publication gpujoin drop table credit") }},
	{"a table is truncated", "source server", func(o *outage) {
		o.atSource("truncate credit; insert into credit select i, 7 from generate_series(1, 500) i")
	}},
	{"a table is rewritten", "source server", func(o *outage) { o.atSource("vacuum full credit") }},
	{"a table gains a column", "source server", func(o *outage) { o.atSource("alter table credit add more int default 1") }},
	{"a table is made again", "source server", func(o *outage) {
		o.atSource("begin; create table other (like credit including all); insert into other select * from credit; drop table credit; alter table other rename to credit; commit")
	}},
	{"restarts", "source server", func(o *outage) { o.restart(syscall.SIGINT) }},
	{"crashes", "source server", func(o *outage) { o.restart(syscall.SIGQUIT) }},
	{"is cut for 1 s", "network", func(o *outage) {
		o.network.Cut()
		time.Sleep(time.Second)
		o.check(o.network.Restore())
	}},
	{"passes nothing on for 3 s", "network", func(o *outage) {
		o.check(o.network.Stall())
		time.Sleep(3 * time.Second)
		o.network.Resume(bounded(o.t))
	}},
	{"is slow for 2 s", "network", func(o *outage) {
		o.check(o.network.Slow(50, 500))
		time.Sleep(2 * time.Second)
		o.network.Resume(bounded(o.t))
	}},
	{"killed", "gpujoind", func(o *outage) { o.check(o.w.KillDaemon(200 * time.Millisecond)) }},
}

// noticed is the time after which the daemon, which reads the source's catalogue each second,
// has noticed a change there.
const noticed = 2500 * time.Millisecond

// outage is the state of a test of one.
type outage struct {
	t       *testing.T
	w       *world
	network *foreign.Network
}

func (o *outage) check(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// atSource runs statements in a new session of the source.
func (o *outage) atSource(sql string) {
	o.t.Helper()
	s, err := o.w.Source.ConnectAs(bounded(o.t), "postgres", o.w.database)
	o.check(err)
	defer s.Close()
	o.check(s.Exec(bounded(o.t), sql))
}

// stopSender stops the process that sends the stream: no connection is closed.
func (o *outage) stopSender() {
	s, err := o.w.Source.ConnectAs(bounded(o.t), "postgres", o.w.database)
	o.check(err)
	defer s.Close()
	text, err := s.One(bounded(o.t), "select pid from pg_stat_replication")
	o.check(err)
	pid, err := strconv.Atoi(text)
	o.check(err)
	o.check(syscall.Kill(pid, syscall.SIGSTOP))
	time.Sleep(4 * time.Second)
	o.check(syscall.Kill(pid, syscall.SIGCONT))
}

// dropSlot drops the slot. The daemon may connect again before it is dropped.
func (o *outage) dropSlot() {
	s, err := o.w.Source.ConnectAs(bounded(o.t), "postgres", o.w.database)
	o.check(err)
	defer s.Close()
	eventually(o.t, "the slot is dropped", func() bool {
		return s.Exec(bounded(o.t), "select pg_terminate_backend(pid) from pg_stat_replication; select pg_drop_replication_slot('points')") == nil
	})
}

func (o *outage) restart(how syscall.Signal) {
	o.check(o.w.Source.Server().Stop(30*time.Second, how, syscall.SIGQUIT))
	time.Sleep(300 * time.Millisecond)
	o.check(o.w.Source.Start())
}

// expected returns what the source itself answers.
func (o *outage) expected() *harness.Result {
	o.t.Helper()
	s, err := o.w.Source.ConnectAs(bounded(o.t), "postgres", o.w.database)
	o.check(err)
	defer s.Close()
	r, err := s.Query(bounded(o.t), strings.ReplaceAll(pair, "src.", ""))
	o.check(err)
	return r
}

// queried runs the query until the returned function is called. Its rows are those of the
// source before the outage or after it, or an error says that the source, the daemon or the
// mirrors are not there.
func (o *outage) queried(before *harness.Result) (stop func(after *harness.Result)) {
	s := o.w.connect(o.w.Local)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	var answers []*harness.Result
	states := map[string]int{}
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			query, end := context.WithTimeout(context.Background(), patience)
			r, err := s.Query(query, pair)
			end()
			states[harness.SQLState(err)]++
			if err == nil {
				answers = append(answers, r)
			}
		}
	}()
	return func(after *harness.Result) {
		o.t.Helper()
		cancel()
		<-done
		for _, r := range answers {
			if d := harness.SameRows(after, r); d != "" && harness.SameRows(before, r) != "" {
				point.Wrong(o.t, "rows of no state of the source: %s", d)
			}
		}
		for state := range states {
			if state != "" && !strings.Contains("08 53 55 57 58", state[:2]) {
				o.t.Errorf("queries ended with SQLSTATE %s", state)
			}
		}
		o.t.Logf("queries by SQLSTATE: %v", states)
	}
}

// TestOutages: whatever happens to a source, queries return its rows or an error, and
// afterwards they are served from mirrors again, without anything left at the source.
func TestOutages(t *testing.T) {
	servers := startFor(t, foreign.Options{Network: true})
	w := newWorld(t, servers, accounts)
	network, err := servers.OpenNetwork()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Close)
	way, err := network.Keywords()
	if err != nil {
		t.Fatal(err)
	}
	w.imports(map[string]string{"host": way["host"], "port": way["port"], "slot": "points", "freshness_timeout": "2s"}, "debit", "credit")
	started := w.local.one("select pg_postmaster_start_time()")
	for _, c := range outages {
		t.Run(c.process+" "+c.name, func(t *testing.T) {
			point.Point{What: c.name, Process: c.process, Moment: "while mirrored tables are joined", Shape: "foreign tables",
				Expect: "the source's rows, or an error of class 08, 53, 55, 57 or 58; then mirrors again", Limit: 120}.Announce(t)
			o := &outage{t: t, w: w, network: network}
			stop := o.queried(o.expected())
			c.strike(o)
			time.Sleep(noticed)
			o.mirroredAgain()
			after := o.expected()
			stop(after)
			if d := harness.SameRows(after, w.local.query(pair)); d != "" {
				point.Wrong(t, "%s", d)
			}
			if now := w.local.one("select pg_postmaster_start_time()"); now != started {
				point.Restart(t, "the local server restarted")
			}
			o.unleaked()
		})
	}
}

// mirroredAgain waits until the query is answered from mirrors. Who runs the server asks for
// the mirrors again, as after a change of a table's definition.
func (o *outage) mirroredAgain() {
	o.t.Helper()
	var last error
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		var node harness.Node
		last = foreign.Mirror(ctx, o.w.local.Session, "debit", "credit")
		if last == nil {
			node, last = o.w.local.Explain(ctx, "analyze, timing off", pair)
		}
		cancel()
		if last == nil {
			var p foreign.Plan
			if p.Add(node); p.Mirrored == 2 && p.Direct == 0 {
				return
			}
			last = fmt.Errorf("read directly: %q", p.Reasons)
		}
		if time.Now().After(deadline) {
			o.t.Fatalf("not mirrored again: %v\n%s", last, o.w.Status(bounded(o.t)))
		}
	}
}

// unleaked checks that the source has one slot and one sender, and no transaction of the
// daemon's is open there.
func (o *outage) unleaked() {
	o.t.Helper()
	s, err := o.w.Source.ConnectAs(bounded(o.t), "postgres", o.w.database)
	o.check(err)
	defer s.Close()
	const held = `select concat_ws(' ', (select count(*) from pg_replication_slots), (select count(*) from pg_stat_replication),
		(select count(*) from pg_stat_activity where backend_xid is not null and pid <> pg_backend_pid()))`
	text := ""
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if text, err = s.One(bounded(o.t), held); err == nil && text == "1 1 0" {
			return
		}
	}
	point.Leak(o.t, "the source has (slots, senders, transactions) %s instead of 1 1 0, %v", text, err)
}
