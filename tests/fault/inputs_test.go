package fault

import (
	"fmt"
	"testing"

	"gpujoin/tests/harness"
)

// Queries with an input that PostgreSQL plans twice, as a feed and in the
// native plan. Both read the same CTE, init plan or other subplan.
var plannedTwice = map[string]string{
	"CTE": `with w as materialized (select id, k, note from fact)
		select x.id, y.note, d.v from w x join w y on x.id = y.id join dim d on d.k = y.k`,
	"volatile CTE": `with w as materialized (select id, random() as r from fact)
		select x.id, x.r = y.r from w x join w y on x.id = y.id`,
	"CTE of a subquery": `select s.id, d.v from (with w as materialized (select id, k from fact)
		select x.id, y.k from w x join w y using (id) offset 0) s join dim d using (k)`,
	"recursive CTE": `with recursive w as (select 1 as id union all select id + 1 from w where id < 40000)
		select f.id, f.note from w join fact f using (id)`,
	"UNION ALL":   "select u.id, d.v from (select id, k from fact union all select k, k from dim) u join dim d using (k)",
	"UNION":       "select u.id, d.v from (select id, k from fact union select k, k from dim) u join dim d using (k)",
	"EXCEPT":      "select u.id, d.v from (select id, k from fact except select id, k from fact where g = 1) u join dim d using (k)",
	"function":    "select f.id, s.n from fact f join generate_series(1, 40000) with ordinality s(id, n) on f.id = s.id",
	"values":      "select f.id, f.note, v.name from fact f join (values (1, 'one'), (2, 'two'), (3, (select name from tiny where g = 3))) v(g, name) on f.g = v.g",
	"sample":      "select f.id, d.v from fact f tablesample bernoulli (60) repeatable (5) join dim d using (k)",
	"init plan":   "select s.id, s.n, d.v from (select id, k, (select count(*) from tiny) as n from fact offset 0) s join dim d using (k)",
	"subplan":     "select s.id, s.n, d.v from (select id, k, (select max(name) from tiny t where t.g = f.g) as n from fact f offset 0) s join dim d using (k)",
	"hashed":      "select s.id, d.v from (select id, k from fact where k in (select id from fact where g < 5 offset 0) or g = 7 offset 0) s join dim d using (k)",
	"partitions":  "select s.id, s.n, d.v from (select id, k, count(*) as n from parts group by id, k) s join dim d using (k)",
	"computed":    "select f.id, s.v, s.none from fact f left join (select k, coalesce(v, 1) as v, note is null as none from dim) s on s.k = f.k",
	"converted":   "select f.id, t.name from fact f join tiny t on t.g = f.g::numeric",
	"aggregation": "select d.note, s.n from (select k, count(*) as n, max(note collate \"C\") from fact group by k) s join dim d using (k)",
}

// The daemon is killed after a part of such an input has been fed, and after all
// have. The native plan then starts from the input's first row.
func TestKillWithInputs(t *testing.T) {
	w := theWorld(t)
	exec(t, w.Witness, `
		create table parts (id int8, k int8, g int8, note text) partition by range (id);
		create table parts_1 partition of parts for values from (0) to (15000);
		create table parts_2 partition of parts for values from (15000) to (100000);
		insert into parts select * from fact; analyze parts`)
	defer exec(t, w.Witness, "drop table parts")
	for name, sql := range plannedTwice {
		t.Run(name, func(t *testing.T) {
			for _, msg := range []int{harness.MsgFilled, harness.MsgRun} {
				s := w.proxied(t, serial)
				h := w.Proxy.HoldFrame(msg, 1)
				done := ask(s, sql)
				reached(t, h, done)
				if err := w.Daemon.Kill(); err != nil {
					t.Fatal(err)
				}
				h.Release()
				w.right(t, sql, <-done)
				w.Restart(t)
				w.right(t, sql, <-ask(s, sql))
			}
		})
	}
	w.unharmed(t, nil)
}

// A rescan executes a CTE again if a parameter changed. The daemon is killed in
// the first, the second or the last scan.
func TestKillRescanWithCTE(t *testing.T) {
	w := theWorld(t)
	const sql = `select i, s.* from generate_series(1, 4) i, lateral (
		with w as materialized (select id, k from fact where id % 4 < i)
		select x.id, y.k from w x join w y using (id) offset 0) s`
	for nth := 1; nth <= 4; nth++ {
		t.Run(fmt.Sprintf("scan %d", nth), func(t *testing.T) {
			s := w.proxied(t, serial)
			h := w.Proxy.HoldFrame(harness.MsgFed, nth)
			done := ask(s, sql)
			reached(t, h, done)
			if err := w.Daemon.Kill(); err != nil {
				t.Fatal(err)
			}
			h.Release()
			w.right(t, sql, <-done)
			w.unharmed(t, s)
		})
	}
}

// A CTE that changes rows does so once, whether the daemon answers or not.
func TestKillWithChanges(t *testing.T) {
	w := theWorld(t)
	exec(t, w.Witness, "create table changes (id int8, k int8)")
	defer exec(t, w.Witness, "drop table changes")
	const sql = `with w as (insert into changes select id, k from fact returning id, k)
		select count(*), sum(d.v) from (select w.id, d.v from w join dim d using (k) offset 0) d`
	const kept = "select count(*), count(distinct id) from changes"
	for _, msg := range []int{harness.MsgOpen, harness.MsgFilled, harness.MsgFed} {
		s := w.proxied(t, serial)
		h := w.Proxy.HoldFrame(msg, 1)
		done := ask(s, sql)
		reached(t, h, done)
		if err := w.Daemon.Kill(); err != nil {
			t.Fatal(err)
		}
		h.Release()
		a := <-done
		if a.err != nil || a.Rows[0] != query(t, w.Witness, "select count(*), sum(d.v) from fact join dim d using (k)").Rows[0] {
			t.Errorf("%v, %v", a.Result, a.err)
		}
		if rows := query(t, w.Witness, kept).Rows[0]; rows != query(t, w.Witness, "select 40000, 40000").Rows[0] {
			t.Errorf("the table has %s rows", rows)
		}
		exec(t, w.Witness, "truncate changes")
		w.unharmed(t, s)
	}
}
