package foreign

import (
	"fmt"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

const itemColumns = `id int not null, a int, b bigint, s smallint, c numeric(10,2), n numeric, d date, ts timestamp,
	tz timestamptz, txt text, vc varchar(20), ch char(6), f double precision, r real, bl boolean, u uuid,
	nm name, iv interval, ar int[], by bytea`

const itemsSchema = `create table items (` + itemColumns + `, primary key (id));
insert into items select i, nullif(i % 97, 13), i * 10000000000, i % 300, (i % 1000) / 7.0, i / 3.0, date '2020-01-01' + i % 800,
	timestamp '2020-01-01' + i * interval '1 hour', timestamptz '2020-01-01 00:00+00' + i * interval '7 minutes',
	case when i % 11 = 0 then null else repeat('x', i % 40) || i end, 'v' || i % 50, 'c' || i % 30, i / 7.0, (i % 100) / 4.0,
	case i % 3 when 0 then true when 1 then false end, md5(i::text)::uuid, ('n' || i % 20)::name, i * interval '1 minute',
	array[i, null, -i], decode(md5(i::text), 'hex') from generate_series(1, 3000) i;
create table kinds (id int primary key, label text, weight numeric(10,2));
insert into kinds select i, 'kind ' || i, i * 1.5 from generate_series(0, 99) i`

const kindColumns = `id int not null, label text, weight numeric(10,2)`

// newReader makes tables at the source, and a server src and a schema for them here.
func newReader(t *testing.T, schema string) *world {
	w := newWorld(t, shared, schema)
	w.server("src", nil, nil)
	w.local.exec("set search_path = src, public")
	return w
}

// reader opens another session that finds the foreign tables.
func (w *world) reader() *session {
	s := w.connect(w.Local)
	s.exec("set search_path = src, public")
	return s
}

// settle waits until queries read the tables from their mirrors, which the first one begins.
func (w *world) settle(tables ...string) {
	w.t.Helper()
	for _, table := range tables {
		eventually(w.t, table+" is mirrored", func() bool {
			return strings.HasPrefix(w.explain("analyze", "select id from "+table).Text("Mirror"), "position")
		})
	}
}

// scan returns the first node of a plan that is a scan of a foreign table.
func scan(n harness.Node) harness.Node {
	if n["Node Type"] == "Foreign Scan" {
		return n
	}
	plans, _ := n["Plans"].([]any)
	for _, child := range plans {
		if found := scan(harness.Node(child.(map[string]any))); found != nil {
			return found
		}
	}
	return nil
}

// explain returns the scan of a foreign table in a query's plan.
func (w *world) explain(options, sql string) harness.Node {
	w.t.Helper()
	plan, err := w.local.Explain(bounded(w.t), options, sql)
	if err != nil {
		w.t.Fatalf("%s: %s", sql, errorText(err))
	}
	n := scan(plan)
	if n == nil {
		w.t.Fatalf("%s: no foreign scan in %v", sql, plan)
	}
	return n
}

func newItems(t *testing.T) *world {
	p := newReader(t, itemsSchema)
	p.local.exec("create foreign table items (" + itemColumns + ") server src options (schema_name 'public')")
	p.local.exec("create foreign table kinds (" + kindColumns + ") server src options (schema_name 'public')")
	return p
}

// conditions are conditions on items: most have a form for the daemon, and some do not.
var conditions = []string{
	"a = 5", "a <> 5", "a is null", "a is not null", "a in (1, 2, null)", "a not in (3, 4)", "a between 5 and 9",
	"b > 10000000000000", "s < 7", "c = 12.86", "c > 100.005", "c is null", "n > 500", "n = 1.0",
	"d = '2020-03-01'", "d < timestamp '2020-02-01 12:00'", "extract(year from d) = 2021",
	"ts >= '2020-02-01' and ts < '2020-02-03'", "tz > '2020-01-10 00:00+00'", "tz > now()",
	"txt = 'x1'", "txt like 'xx%9'", "txt is null", "txt < 'xxx2'", "txt ~ '5$'", "length(txt) = 7", "upper(vc) = 'V7'",
	"vc = 'v7'", "ch = 'c7'", "ch = 'c7  '", "ch like 'c7 %'", "f > 100", "f = 1", "r = 0.25", "bl", "not bl", "bl is null", "bl is not true",
	"u = md5('77')::uuid", "nm = 'n7'", "iv > interval '10 hours'", "ar[1] = 7", "ar = array[7, null, -7]", "by = decode(md5('8'), 'hex')",
	"a + id > 2000", "id % 2 = 0 and (a = 3 or c > 140)", "case when a > 50 then bl else not bl end", "coalesce(a, -1) = -1",
	"(a, id) = (7, 7)", "id / nullif(a, 0) > 40", "false", "id < 0", "id = 7 or n is null", "tableoid is null",
}

func testConditions(t *testing.T, p *world) {
	for _, c := range conditions {
		p.same("select id, txt, c from items where " + c)
		p.same("select count(*) from items where " + c)
	}
	p.same("select * from items")
	p.same("select items from items where id < 50")
	p.same("select ar, by, iv, nm, u from items where id > 2900")
}

func TestConditions(t *testing.T) {
	p := newItems(t)
	t.Run("direct", func(t *testing.T) {
		p.t = t
		p.local.exec("alter foreign table items options (mirror 'off')")
		if got := p.explain("analyze", "select a from items where a = 5"); got["Direct"] == nil {
			t.Errorf("a table without a mirror: %v", got)
		}
		testConditions(t, p)
		p.local.exec("alter foreign table items options (drop mirror)")
	})
	t.Run("mirrored", func(t *testing.T) {
		p.t = t
		p.settle("items", "kinds")
		if got := p.explain("analyze", "select a from items where a = 5"); !strings.HasPrefix(got.Text("Mirror"), "position") {
			t.Errorf("a mirrored table: %v", got)
		}
		testConditions(t, p)
	})
}

// TestShipped checks which conditions the daemon evaluates.
func TestShipped(t *testing.T) {
	p := newItems(t)
	p.settle("items")
	for _, q := range []struct{ condition, daemon, local string }{
		{"a = 5", "a = 5", ""},
		{"a = 5 and txt ~ '5$'", "a = 5", "txt ~"},
		{"txt like 'x%' and c > 3", "txt ~~ 'x%", ""},
		{"n > 5", "", "n > "},
		{"id / a > 3 and a > 0", "a > 0", "id / a"},
		{"f > 5 and ch = 'c1'", "f > ", ""},
	} {
		n := p.explain("analyze", "select id from items where "+q.condition)
		filter, _ := n["Daemon Filter"].(string)
		local, _ := n["Filter"].(string)
		if (q.daemon == "") != (filter == "") || !strings.Contains(filter, q.daemon) ||
			(q.local == "") != (local == "") || !strings.Contains(local, q.local) {
			t.Errorf("%s: daemon filter %q, filter %q", q.condition, filter, local)
		}
	}
	n := p.explain("analyze, verbose", "select id from items where a = 5")
	if n["Remote Table"] != "public.items" || n["Rows Removed by Daemon Filter"] != 2969.0 || n["Actual Rows"] != 31.0 {
		t.Errorf("explain verbose: %v", n)
	}
}

// joins are queries in which scans of foreign tables run more than once, or stop early.
var joins = []string{
	"select i.id, k.label from items i join kinds k on k.id = i.a",
	"select i.id, k.label from items i left join kinds k on k.id = i.a and k.weight > 50",
	"select k.id, (select count(*) from items i where i.a = k.id) from kinds k",
	"select k.id, (select max(txt) from items i where i.a = k.id and i.c > k.weight) from kinds k",
	"select k.id from kinds k where exists (select from items i where i.a = k.id and i.txt like 'xx%')",
	"select k.id from kinds k where k.id not in (select a from items where a is not null)",
	"select k.id, l.id from kinds k, lateral (select id from items i where i.a = k.id order by id limit 2) l",
	"select k.id, l.n from kinds k cross join lateral (select count(*) n from items i where i.c > k.weight) l",
	"with w as (select a, count(*) n from items group by a) select * from w join kinds k on k.id = w.a where w.n > 30",
	"with w as materialized (select * from items where a = 5) select x.id, y.id from w x, w y where x.id < y.id",
	"with recursive r(n) as (select 1 union all select n + 1 from r join kinds k on k.id = r.n where n < 20) select n from r",
	"select id from items where a = 5 union all select id from kinds where id > 90",
	"select id from items where a = 5 intersect select id from items where s < 100",
	"select a, sum(c), avg(n), count(distinct txt) from items group by a having count(*) > 30",
	"select a, id, rank() over (partition by a order by id) from items where a < 3",
	"select id from items order by id limit 5",
	"select id from items order by b desc offset 10 limit 5",
	"select id from items where a = (select max(id) from kinds where id < 50)",
	"select id from items where c > (select avg(weight) from kinds)",
	"select id from items where a = any (array(select id from kinds where id > 90))",
	"select x.id, y.id from kinds x, kinds y where x.id + y.id = 30",
	"select distinct on (a) a, id from items order by a, id",
	"select k.label, i.* from kinds k join items i on (i.id = k.id) where k.id < 10",
	"select i from items i join kinds k on k.id = i.id where k.id < 3",
	"select count(*) from (select 1 from items limit 10) x",
	"select count(*), count(a) from items",
	"select 1 from items where id < 4",
	"values ((select count(*) from items)), ((select count(*) from kinds))",
}

func TestJoins(t *testing.T) {
	p := newItems(t)
	p.settle("items", "kinds")
	for _, settings := range []string{
		"set gpujoin.enabled = off",
		"set gpujoin.enabled = off; set enable_hashjoin = off; set enable_mergejoin = off; set enable_material = off; set enable_memoize = off",
		"set gpujoin.enabled = on; reset enable_hashjoin; reset enable_mergejoin; reset enable_material",
	} {
		p.local.exec(settings)
		for _, q := range joins {
			p.same(q)
		}
	}
}

// TestParameters runs prepared statements with generic plans, and values of parameters that the
// daemon cannot take.
func TestParameters(t *testing.T) {
	p := newItems(t)
	p.settle("items", "kinds")
	both := func(sql string) { p.source.exec(sql); p.local.exec(sql) }
	both("set plan_cache_mode = force_generic_plan")
	for i, q := range []struct {
		types, query string
		values       []string
	}{
		{"int", "select id from items where a = $1", []string{"5", "null", "96", "-1"}},
		{"numeric", "select id, c from items where c > $1", []string{"100", "141.005", "'NaN'", "1e30", "-1e30", "null"}},
		{"numeric", "select count(*) from items where c <= $1 and a > 50", []string{"12.86", "'NaN'", "1e25"}},
		{"text", "select id, a from items where txt = $1", []string{"'x1'", "'none'", "repeat('x', 300000)"}},
		{"bpchar", "select id from items where ch = $1", []string{"'c7'", "'c7   '"}},
		{"date, timestamptz", "select id from items where d < $1 or tz > $2", []string{"'2020-01-05', '2020-01-15 00:00+00'", "'infinity', null"}},
		{"text", "select id from items where txt like $1", []string{"'xx%9'"}},
		{"int", "select k.id, (select count(*) from items i where i.a = k.id and i.id > $1) from kinds k where k.id < 5", []string{"100", "2000"}},
	} {
		both(fmt.Sprintf("prepare q%d(%s) as %s", i, q.types, q.query))
		for _, v := range q.values {
			p.same(fmt.Sprintf("execute q%d(%s)", i, v))
			p.same(fmt.Sprintf("execute q%d(%s)", i, v))
		}
	}
}

// TestCursors fetches from cursors, forwards and backwards, while another one is open.
func TestCursors(t *testing.T) {
	p := newItems(t)
	p.settle("items", "kinds")
	for _, script := range []string{
		"begin; declare c cursor for select id from items order by id; fetch 3 from c; fetch 5 from c",
		"commit; begin; declare c scroll cursor for select id from items where a = 5 order by id; fetch 4 from c; move backward 3 in c; fetch 3 from c",
		"fetch last from c", "fetch first from c", "fetch absolute 3 from c",
		"declare e scroll cursor for select count(*) over (), id from items where a in (3, 4) order by id; fetch 2 from e", "fetch all from c", "fetch all from e",
		"commit; begin; declare h cursor with hold for select id, label from kinds order by id; fetch 3 from h; commit; fetch 4 from h", "close h",
	} {
		p.same(script)
	}
	// a cursor of which no row is fetched, and one that is closed in the middle
	p.same("begin; declare c cursor for select * from items; close c; declare d cursor for select * from items; fetch 1 from d; close d; commit; select count(*) from items")
}

// TestPartitions reads local tables whose partitions and children are foreign tables.
func TestPartitions(t *testing.T) {
	p := newReader(t, `create table events (id int, day int, note text) partition by range (day);
		create table events_1 partition of events for values from (0) to (10);
		create table events_2 partition of events for values from (10) to (20);
		create table events_3 partition of events for values from (20) to (30);
		alter table events_1 add primary key (id); alter table events_2 add primary key (id); alter table events_3 add primary key (id);
		insert into events select i, i % 30, 'note ' || i from generate_series(1, 1000) i`)
	p.local.exec(`create table events (id int, day int, note text) partition by range (day);
		create foreign table events_1 partition of events for values from (0) to (10) server src options (schema_name 'public');
		create foreign table events_2 partition of events for values from (10) to (20) server src options (schema_name 'public');
		create table events_3 partition of events for values from (20) to (30);
		insert into events_3 select i, i % 30, 'note ' || i from generate_series(1, 1000) i where i % 30 >= 20`)
	for range 2 {
		for _, q := range []string{
			"select * from events", "select id from events where day = 5", "select count(*), max(note) from events where day < 25",
			"select tableoid::regclass, count(*) from events group by 1", "select e.id, f.id from events e join events f on e.id = f.id + 1 where e.day = 3",
			"select id from events where day = (select 12)", "select day, count(*) from events group by day", "select * from events order by id limit 7",
			"select d, (select count(*) from events e where e.day = d) from generate_series(0, 29) d",
		} {
			p.same(q)
		}
		p.settle("events_1", "events_2")
		p.local.exec("analyze events")
		if n := p.local.one("select reltuples::int from pg_class where oid = 'events'::regclass"); n != "1000" {
			t.Errorf("%s rows are counted", n)
		}
	}
}

// TestInheritance reads a local table of which a foreign table is a child.
func TestInheritance(t *testing.T) {
	p := newReader(t, `create table animals (id int primary key, name text); create table cats (lives int, primary key (id)) inherits (animals);
		insert into animals values (1, 'dog'); insert into cats select i, 'cat ' || i, i % 9 from generate_series(2, 50) i`)
	p.local.exec(`create table animals (id int primary key, name text); insert into animals values (1, 'dog');
		create foreign table cats (lives int) inherits (animals) server src options (schema_name 'public')`)
	for range 2 {
		for _, q := range []string{
			"select * from animals", "select * from only animals", "select * from cats where lives = 3",
			"select name from animals where id in (1, 5)", "select tableoid::regclass, count(*) from animals group by 1",
			"select a from animals a where id < 4",
		} {
			p.same(q)
		}
		p.settle("cats")
	}
}
