package foreign

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
)

func TestWritingIsRefused(t *testing.T) {
	p := newItems(t)
	for _, q := range []struct{ sql, text string }{
		{"insert into kinds values (100, 'new', 1)", "cannot insert into foreign table"},
		{"update kinds set label = 'x'", "cannot update foreign table"},
		{"delete from kinds", "cannot delete from foreign table"},
		{"truncate kinds", "cannot truncate foreign table"},
		{"copy kinds from stdin", "cannot insert into foreign table"},
		{"select ctid from kinds", "cannot be read"},
		{"select xmin from kinds", "cannot retrieve a system column"},
	} {
		p.local.fails("0A000", q.text, q.sql)
	}
}

// TestLocks locks and changes rows of local tables that are joined with foreign ones, while others
// change the same rows: the rows of the foreign tables are those that were read at first.
func TestLocks(t *testing.T) {
	p := newItems(t)
	p.settle("items", "kinds")
	schema := "create table stock (id int primary key, amount int); insert into stock select i, 10 * i from generate_series(1, 50) i"
	p.source.exec(schema)
	p.local.exec(schema)
	p.same("select s.id, k.label from stock s join kinds k using (id) where k.weight > 30 for update of s")
	p.same("select s.id, k.label from stock s join kinds k using (id) where k.weight > 30 for update")
	p.same("update stock s set amount = amount + i.a from items i where i.id = s.id and i.a > 20 returning s.id, s.amount")
	p.same("delete from stock s using kinds k where k.id = s.id and k.label like '%9' returning s.id")
	p.same("select id, amount from stock")

	// the row changes while the statement waits for it
	other := p.reader()
	for _, q := range []struct{ change, statement string }{
		{"update stock set amount = amount + 1000 where id = 7", "select s.id, s.amount, k.label, i.id from stock s join kinds k using (id) join items i on i.a = k.id and i.id < 200 where s.id = 7 for update of s"},
		{"update stock set amount = -1 where id = 8", "select s.id, s.amount, k.label from stock s join kinds k using (id) where s.amount > 0 and s.id in (7, 8) for update"},
		{"update stock set amount = 1 where id = 12", "update stock s set amount = s.amount + i.a from items i where i.id = s.id and i.a = 12 and i.txt like '%x%' and s.id = 12 returning s.id, s.amount, i.txt, (select label from kinds k where k.id = s.id)"},
	} {
		var rows [2]*harness.Result
		for i, c := range []struct{ holder, waiter *session }{{p.connect(p.Source), p.source}, {other, p.local}} {
			c.holder.exec("begin; " + q.change)
			done := make(chan error, 1)
			go func() {
				r, err := c.waiter.Query(context.Background(), q.statement)
				rows[i] = r
				done <- err
			}()
			waitForLock(p, c.holder, c.waiter)
			c.holder.exec("commit")
			if err := <-done; err != nil {
				t.Fatalf("%s: %v", q.statement, err)
			}
		}
		if diff := harness.SameRows(rows[0], rows[1]); diff != "" {
			t.Errorf("%s after %s: %s", q.statement, q.change, diff)
		}
	}
}

// waitForLock waits until a session waits for a lock of another one.
func waitForLock(p *world, holder, waiter *session) {
	p.t.Helper()
	sql := fmt.Sprintf("select count(*) from pg_stat_activity where pid = %d and wait_event_type = 'Lock'", waiter.PID())
	for until := time.Now().Add(patience); ; {
		if n, err := holder.One(bounded(p.t), sql); err == nil && n == "1" {
			return
		}
		if time.Now().After(until) {
			p.t.Fatal("nobody waits for the lock")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestInterrupts cancels scans and lets them run into a timeout; the session goes on.
func TestInterrupts(t *testing.T) {
	p := newItems(t)
	p.settle("items", "kinds")
	long := "select count(*) from items a, items b, items c where a.id + b.id + c.id < 0"
	p.local.exec("set gpujoin.enabled = off; set statement_timeout = 300")
	p.local.fails("57014", "statement timeout", long)
	p.local.exec("set statement_timeout = 0")
	done := make(chan error, 1)
	go func() { done <- p.local.Exec(context.Background(), long) }()
	time.Sleep(200 * time.Millisecond)
	p.reader().exec(fmt.Sprintf("select pg_cancel_backend(%d)", p.local.PID()))
	if err := <-done; harness.SQLState(err) != "57014" {
		t.Errorf("a cancelled scan: %v", err)
	}
	p.local.exec("reset gpujoin.enabled")
	p.same("select count(*) from items")

	// errors in the middle of scans release what these hold
	for range 20 {
		p.local.fails("22012", "division by zero", "select id / (id - 2000) from items order by id")
		p.local.fails("P0001", "enough", "do $$ declare r record; begin for r in select * from items loop if r.id > 5 then raise 'enough'; end if; end loop; end $$")
	}
	p.local.exec("begin; declare c cursor for select * from items; fetch 5 from c; savepoint s; declare d cursor for select * from kinds; fetch 3 from d; rollback to s; fetch 5 from c; rollback")
	p.same("select count(*) from items")
}

// TestText reads types that the daemon cannot encode, which come as text.
func TestText(t *testing.T) {
	schema := `create type mood as enum ('sad', 'happy'); create type spot as (x int, y text); create domain small as int check (value < 1000);
		create domain code as varchar(8); %s (id int primary key, m mood, s spot, j jsonb, ra int4range, v tsvector, ms mood[], x xml, dm small, dc code, o oidvector, jp jsonpath)`
	p := newReader(t, fmt.Sprintf(schema, "create table odd")+`;
		insert into odd select i, case when i % 5 > 0 then (enum_range(null::mood))[1 + i % 2] end, row(i, 'y ' || i)::spot, jsonb_build_object('k', i, 'n', null),
			int4range(i, i + 5), to_tsvector('english', 'cats and dogs ' || i), array['happy', null]::mood[], ('<a>' || i || '</a>')::xml, i % 900, 'c' || i % 9, '1 2 3', '$.k ? (@ > 5)'
		from generate_series(1, 500) i; insert into odd (id) values (0)`)
	p.local.exec(strings.Replace(fmt.Sprintf(schema, "create foreign table odd"), "id int primary key", "id int not null", 1) + " server src options (schema_name 'public')")
	columns := "id, m, s, j, ra, v, ms, x, dm, dc, o, jp"
	for _, q := range []string{
		"select " + columns + " from odd", "select odd from odd where id < 20", "select id from odd where m = 'happy'", "select id, (s).y from odd where (s).x > 490",
		"select j->>'k' from odd where j @> '{\"k\": 7}'", "select id from odd where ra @> 100", "select id from odd where j is null", "select count(m), count(*) from odd",
		"select id from odd where v @@ to_tsquery('english', 'cat & 77')", "select m, count(*) from odd group by m", "select dm, dc from odd where dm = 5 and dc = 'c5'",
		"select ms from odd where ms[1] = 'happy'",
	} {
		p.same(q)
	}
	if n := p.explain("analyze", "select id, j from odd"); n["Direct"] == nil {
		t.Errorf("a column without an encoder: %v", n)
	}

	// columns that have one are read from a mirror
	p.settle("odd")
	if n := p.explain("analyze", "select id, dm, dc from odd"); !strings.HasPrefix(n.Text("Mirror"), "position") {
		t.Errorf("columns that have encoders: %v", n)
	}
	p.same("select id, dm, dc from odd where dc = 'c5'")
	p.same("select " + columns + " from odd")
}

func TestAnalyze(t *testing.T) {
	p := newItems(t)
	p.source.exec("analyze")
	for _, mirrored := range []bool{false, true} {
		if mirrored {
			p.settle("items", "kinds")
		}
		p.local.exec("analyze items")
		if n, err := p.local.One(bounded(t), "select reltuples::int from pg_class where oid = 'items'::regclass"); err != nil || n != "3000" {
			t.Errorf("reltuples %s: %v", n, err)
		}
		p.same("select attname, null_frac, n_distinct, most_common_vals is null from pg_stats where tablename = 'items' and attname in ('id', 'a', 's', 'bl')")
		n := p.explain("", "select * from items where a = 5")
		if rows := n["Plan Rows"].(float64); rows < 20 || rows > 45 {
			t.Errorf("%v rows are expected of 31", rows)
		}
		// fewer rows than the table has
		p.local.exec("set default_statistics_target = 1; analyze items; reset default_statistics_target")
		if n, err := p.local.One(bounded(t), "select reltuples::int from pg_class where oid = 'items'::regclass"); err != nil || n != "3000" {
			t.Errorf("reltuples of a sample %s: %v", n, err)
		}
		if n, err := p.local.One(bounded(t), "select count(*) from pg_stats where tablename = 'items'"); err != nil || n != "20" {
			t.Errorf("%s columns with statistics: %v", n, err)
		}
	}
}

// TestEstimates plans tables that were never analyzed, and plans without a daemon.
func TestEstimates(t *testing.T) {
	p := newItems(t)
	p.source.exec("analyze")
	if n := p.explain("", "select * from items"); n["Plan Rows"] != 3000.0 {
		t.Errorf("%v rows are expected", n["Plan Rows"])
	}
	p.local.exec("set gpujoin.socket = '/nowhere'")
	if n := p.explain("", "select * from items where a = 5"); !strings.HasPrefix(n.Text("Mirror"), "unknown") {
		t.Errorf("explain without a daemon: %v", n)
	}
	p.local.fails("08001", "", "select * from items where a = 5")
	p.local.fails("08001", "", "analyze items")
	p.local.exec("reset gpujoin.socket")
	p.same("select count(*) from items")
}

// TestDaemonEndsInAScan ends the daemon while a cursor reads: rows that are missing are an error.
func TestDaemonEndsInAScan(t *testing.T) {
	w := newWorld(t, startFor(t, foreign.Options{}), `create table t (id int primary key, note text);
		insert into t select i, repeat('n', 100) || i from generate_series(1, 100000) i`)
	w.server("src", nil, nil)
	w.local.exec("set search_path = src, public; create foreign table t (id int, note text) server src options (schema_name 'public')")
	w.local.exec("begin; declare c cursor for select * from t; fetch 1 from c")
	if err := w.KillDaemon(0); err != nil {
		t.Fatal(err)
	}
	w.local.fails("08006", "could not read foreign table", "fetch all from c")
	w.local.exec("rollback")
	w.same("select count(*), min(note) from t")
}
