package foreign

import (
	"strings"
	"testing"

	"gpujoin/tests/harness/foreign"
)

const odd = `
	create table plain (id int primary key, v text, at timestamptz, n numeric(10, 2), wide numeric, f float8, b boolean, d date, u uuid, j jsonb, a int[]);
	insert into plain select i, 'v ' || i, '2024-01-01'::timestamptz + i * interval '1 hour', i / 7.0, i * 1e20, i / 3.0, i % 2 = 0, date '2024-01-01' + i, gen_random_uuid(),
		jsonb_build_object('i', i), array[i, i + 1] from generate_series(1, 3000) i;
	update plain set v = null, n = null, a = null where id % 10 = 0;
	create table nokey (id int, v text); insert into nokey select i, 'n' || i from generate_series(1, 1000) i;
	create view seen as select id, v from plain where id > 100;
	create materialized view stored as select id, v from plain where id <= 100;
	create table part (id int primary key, v int) partition by range (id);
	create table part_1 partition of part for values from (0) to (500);
	create table part_2 partition of part for values from (500) to (2000);
	insert into part select i, i from generate_series(1, 1500) i;
	create unlogged table fast (id int primary key, v int); insert into fast select i, i from generate_series(1, 100) i;
	create type mood as enum ('sad', 'ok', 'happy');
	create table feeling (id int primary key, m mood, r int4range, p point); insert into feeling select i, (enum_range(null::mood))[1 + i % 3], int4range(i, i + 5), point(i, i) from generate_series(1, 500) i;`

// What cannot be mirrored is read directly, and EXPLAIN says why.
func TestDirectReads(t *testing.T) {
	w := newWorld(t, shared, odd)
	w.local.exec("create type mood as enum ('sad', 'ok', 'happy')")
	w.imports(nil, "plain")
	for _, c := range []struct{ table, reason string }{
		{"nokey", "key"}, {"seen", "view"}, {"stored", "view"}, {"part", "partition"}, {"fast", "unlogged"},
	} {
		w.same("select * from " + c.table)
		w.same("select count(*), min(id), max(v) from " + c.table + " where id % 3 = 1")
		var p foreign.Plan
		eventually(t, c.table+" has its reason", func() bool { // it is asked for a mirror first
			p = w.local.plan("select * from " + c.table)
			return !strings.Contains(strings.Join(p.Reasons, " "), "loading")
		})
		if p.Direct != 1 || p.Mirrored != 0 || !strings.Contains(strings.Join(p.Reasons, " "), c.reason) {
			t.Errorf("%s: %d direct, %q", c.table, p.Direct, p.Reasons)
		}
		plain := w.local.query("explain select * from " + c.table)
		if !strings.Contains(strings.Join(plain.Rows, "\n"), "Direct: ") {
			t.Errorf("%s: %q", c.table, plain.Rows)
		}
	}
	w.same("select id, v, at, n, f, b, d, u from plain")
	if p := w.local.plan("select id, v, at, n, f, b, d, u from plain"); p.Mirrored != 1 || p.Direct != 0 {
		t.Errorf("%+v", p)
	}
	w.same("select * from plain")
	w.same("select * from feeling")
	w.same("select m, count(*) from feeling group by m")
	w.same("select count(*) from plain, lateral (select v from feeling where feeling.id = plain.id offset 0) x")
	w.same("select id, (select count(*) from nokey where nokey.id < plain.id) from plain where id < 50")
	// A table that need not be mirrored.
	w.local.exec("alter foreign table plain options (add mirror 'off')")
	w.same("select id, v from plain")
	if p := w.local.plan("select id, v from plain"); p.Mirrored != 0 || p.Direct != 1 {
		t.Errorf("mirror 'off': %+v", p)
	}
}

// A statement that reads mirrored and direct tables reads all directly, unless mix is on.
func TestMix(t *testing.T) {
	w := newWorld(t, shared, odd)
	w.local.exec("create type mood as enum ('sad', 'ok', 'happy')")
	w.imports(nil, "plain")
	const both = "select count(*), sum(plain.id) from plain join nokey using (id)"
	w.same(both)
	if p := w.local.plan(both); p.Mirrored != 0 || p.Direct != 2 || !strings.Contains(strings.Join(p.Reasons, " "), "nokey") {
		t.Errorf("%d mirrored, %d direct: %q", p.Mirrored, p.Direct, p.Reasons)
	}
	w.local.exec("alter server src options (add mix 'on')")
	w.same(both)
	if p := w.local.plan(both); p.Mirrored != 1 || p.Direct != 1 {
		t.Errorf("mix: %d mirrored, %d direct: %q", p.Mirrored, p.Direct, p.Reasons)
	}
	// Rows of local tables join with both.
	w.local.exec("create table here as select i as id, 'here ' || i as name from generate_series(1, 5000) i; analyze here")
	if got := w.local.one("select count(*) from here join plain using (id) join nokey using (id) where name like 'here %'"); got != "1000" {
		t.Errorf("%s rows", got)
	}
}

// Foreign tables are read only, and are read as their owner may.
func TestReadOnlyAndPrivileges(t *testing.T) {
	w := newWorld(t, shared, odd)
	w.local.exec("create type mood as enum ('sad', 'ok', 'happy')")
	w.imports(nil, "plain")
	for _, sql := range []string{"insert into nokey values (1, 'x')", "update plain set v = 'x'", "delete from plain", "truncate plain"} {
		if err := w.local.Exec(bounded(t), sql); err == nil {
			t.Errorf("%s succeeds", sql)
		}
	}
	w.local.exec("drop role if exists reader_of_" + w.database + "; create role reader_of_" + w.database + " login; grant usage on schema src to reader_of_" + w.database)
	other := w.connectAs(w.Local, "reader_of_"+w.database)
	other.fails("42501", "permission denied", "select count(*) from src.plain")
	w.local.exec("grant select on src.plain to reader_of_" + w.database)
	// There is no mapping for this user: another one's mirror is not served.
	other.fails("42704", "user mapping", "select count(*) from src.plain")
	// A view reads as its owner.
	w.local.exec("create view src.through as select id, v from src.plain; grant select on src.through to reader_of_" + w.database)
	if got := other.one("select count(*) from src.through"); got != "3000" {
		t.Errorf("%s rows", got)
	}
}
