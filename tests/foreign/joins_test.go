package foreign

import (
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

// joinSchema has keys and columns of many types, NULLs, and keys without partners.
const joinSchema = `
create table customer (id int primary key, name varchar(40) not null, segment char(10), balance numeric(12,2), since date, note text, region int);
create table orders (id bigint primary key, customer int not null, placed timestamp, day date, status char(1), total numeric(15,2), weight float8, ratio float4, tag text, code numeric, held interval);
create table lines (order_id bigint, no int, part int, qty numeric(12,2), price numeric(15,2), discount numeric(4,2), shipped date, mode char(12), comment varchar(44), primary key (order_id, no));
create table parts (id int primary key, name text, size smallint, brand char(10), container varchar(10), price numeric(12,2), free numeric, made timestamptz, key uuid, tags text[]);
create table regions (id int primary key, name name, label char(20), bits bytea, large boolean);
insert into customer select i, 'c' || i, (array['AUTO', 'BUILDING', 'HOUSE', null])[1 + i % 4], (i * 37 % 10000) / 100.0 - 20, date '2020-01-01' + i % 700,
	case when i % 5 = 0 then null else 'note ' || i % 50 end, case when i % 7 = 0 then null else i % 6 end from generate_series(1, 1000) i;
insert into orders select i, 1 + (i * 7919) % 1100, timestamp '2021-01-01' + i * interval '1 hour', date '2021-01-01' + i % 400, (array['O', 'F', 'P'])[1 + i % 3],
	(i * 101 % 100000) / 100.0, case when i % 11 = 0 then 'nan' when i % 13 = 0 then -0.0 else (i % 40) / 4.0 end, (i % 40) / 4.0, 'tag' || i % 20,
	case when i % 17 = 0 then null else (i % 300) / 10.0 end, case when i % 3 = 0 then interval '1 month' else interval '30 days' end from generate_series(1, 5000) i;
insert into lines select 1 + (i * 31) % 5200, i, 1 + i % 210, i % 50, (i * 13 % 9000) / 100.0, (i % 10) / 100.0, date '2021-01-01' + i % 500,
	(array['AIR', 'SHIP', 'RAIL'])[1 + i % 3], 'line ' || i from generate_series(1, 20000) i;
insert into parts select i, 'part ' || i, i % 50, 'B' || i % 7, 'box' || i % 4, i * 1.5, round(i / (1 + i % 8)::numeric, i % 4), timestamptz '2021-05-01 12:00+00' + i * interval '1 day',
	md5(i::text)::uuid, array['a' || i % 3, 'b'] from generate_series(1, 200) i;
insert into regions values (0, 'north', 'the north', '\x00', true), (1, 'south', 'BUILDING', '\x01ff', false), (2, 'east', 'AUTO', null, null), (3, 'west', 'AIR', '\x', true), (9, 'none', 'SHIP', '\x02', false);
analyze`

// joinQuery is a query and what its plan must be.
type joinQuery struct {
	sql     string
	mirrors int // inputs of jobs that nobody feeds
}

// modes are the settings under which a query is executed. Natively, a correlated subquery is a
// scan for each row.
func (q joinQuery) modes() []string {
	modes := []string{"gpujoin.debug_force = off", "gpujoin.debug_force = on", "gpujoin.verify = on"}
	if strings.Contains(q.sql, "0.2 * avg") {
		return modes
	}
	return append(modes, "gpujoin.enabled = off")
}

var joinQueries = []joinQuery{
	// inner joins of 2 to 6 tables
	{`select o.id, c.name from orders o join customer c on c.id = o.customer`, 2},
	{`select c.name, o.id, l.no, p.name from lines l join orders o on o.id = l.order_id join customer c on c.id = o.customer join parts p on p.id = l.part`, 4},
	{`select r.name, c.name, o.id, l.no, p.name, x.id from lines l join orders o on o.id = l.order_id join customer c on c.id = o.customer
		join parts p on p.id = l.part join regions r on r.id = c.region join customer x on x.id = p.id`, 6},
	{`select count(*), sum(l.price * (1 - l.discount)), min(o.day), max(c.name) from lines l join orders o on o.id = l.order_id join customer c on c.id = o.customer`, 3},
	// outer, semi, anti and full joins
	{`select c.id, o.id from customer c left join orders o on o.customer = c.id and o.total > 300`, 2},
	{`select c.id, o.id from orders o right join customer c on o.customer = c.id where o.id is null`, 2},
	{`select c.id, o.id from customer c full join orders o on o.customer = c.id`, 2},
	{`select c.id from customer c where exists (select from orders o where o.customer = c.id and o.status = 'P')`, 2},
	{`select c.id from customer c where not exists (select from orders o where o.customer = c.id)`, 2},
	{`select c.id from customer c where c.id in (select customer from orders where total < 50) and c.balance > 0`, 2},
	{`select id from orders where customer not in (select id from customer where note like '%7')`, 2},
	{`select count(*) from orders where customer not in (select id from customer)`, 2},
	{`select c.id, o.id from customer c left join orders o on o.customer = c.id and o.total > c.balance where c.region = 3`, 2},
	{`select c.id, o.id from customer c left join orders o on o.customer = c.id and o.total > c.balance * 5 where c.region = 3`, 0}, // may be an error
	// keys of all kinds
	{`select p.id, q.id from parts p join parts q on p.brand = q.brand and p.container = q.container`, 2},
	{`select r.id, c.id from regions r join customer c on r.label = c.segment`, 2},
	{`select r.id, l.no from regions r join lines l on r.label = l.mode where l.no < 500`, 2},
	{`select a.id, b.id from orders a join orders b on a.weight = b.weight where a.id < 200 and b.id < 300`, 2},
	{`select a.id, b.id from orders a join orders b on a.ratio = b.weight where a.id < 200 and b.id < 300`, 2},
	{`select a.id, b.id from orders a join orders b on a.code = b.code where a.id < 400`, 2},
	{`select a.id, p.id from orders a join parts p on a.code = p.free`, 2},
	{`select a.id, p.id from orders a join parts p on a.total = p.price`, 2},
	{`select o.id, l.no from orders o join lines l on o.day = l.shipped and o.id = l.order_id`, 2},
	{`select a.id, b.id from orders a join orders b on a.placed = b.placed where a.id % 2 = 0`, 1}, // the same
	{`select a.id, b.id from orders a join orders b on a.day = b.placed`, 2},
	{`select a.id, b.id from orders a join orders b on a.held = b.held where a.id < 20 and b.id < 50`, 2},
	{`select a.id, b.id, a.made, a.key from parts a join parts b on a.key = b.key and a.made = b.made`, 2},
	{`select a.id, b.id from regions a join regions b on a.name = b.name and a.bits = b.bits`, 2},
	{`select a.id, b.tags from parts a join parts b on a.id = b.size`, 2},
	// conditions
	{`select o.id, c.id from orders o join customer c on c.id = o.customer where c.segment = 'BUILDING' and o.tag like 'tag1%'`, 2},
	{`select o.id, c.id from orders o join customer c on c.id = o.customer where c.segment in ('AUTO', 'HOUSE') and o.status <> 'O' and c.note is not null`, 2},
	{`select o.id, c.id from orders o join customer c on c.id = o.customer where c.id in (3, 5, 8, null) or o.total between 10 and 20`, 2},
	{`select o.id from orders o join customer c on c.id = o.customer where o.weight > 3.5 and o.ratio < 8 and o.placed >= '2021-02-01' and c.since < date '2021-06-01'`, 2},
	{`select o.id from orders o join customer c on c.id = o.customer where o.weight = 'nan' or o.weight = 0`, 2},
	{`select o.id from orders o join customer c on c.id = o.customer where o.code > 12.5`, 1}, // of any scale
	{`select count(*) from orders o join customer c on c.id = o.customer where 100 / (c.region + 1) > 20`, 2},
	{`select l.no from lines l join parts p on p.id = l.part where l.comment like 'line 1_3%' and p.size = any (array[3, 5]::smallint[])`, 2},
	{`select r.id, c.id from regions r join customer c on c.region = r.id where r.large and not (c.name = 'c5' or c.name >= 'c9')`, 0},
	// aggregates
	{`select count(*) from lines`, 1},
	{`select count(*) from lines where qty > 20`, 1},
	{`select mode, sum(price), avg(discount), count(distinct part) from lines group by mode`, 1},
	{`select c.segment, count(*), sum(o.total), avg(o.total), min(o.tag), max(o.placed) from orders o join customer c on c.id = o.customer group by c.segment`, 2},
	{`select c.segment, c.region, count(*), grouping(c.segment, c.region) from orders o join customer c on c.id = o.customer group by rollup (c.segment, c.region)`, 2},
	{`select c.region, o.status, sum(o.total) from orders o join customer c on c.id = o.customer group by grouping sets ((c.region), (o.status), ())`, 2},
	{`select c.id, count(*) from orders o join customer c on c.id = o.customer group by c.id having count(*) > 4 and sum(o.total) > 100`, 2},
	{`select distinct c.segment, o.status from orders o join customer c on c.id = o.customer`, 2},
	{`select sum(code), avg(code), min(code) from orders o join customer c on c.id = o.customer`, 2},
	{`select bool_and(r.large), count(r.bits) from regions r join customer c on c.region = r.id`, 2},
	{`select stddev(l.price), variance(l.qty) from lines l join parts p on p.id = l.part`, 2},
	// subqueries
	{`select o.id from orders o join (select order_id, sum(price) as s from lines group by order_id) l on l.order_id = o.id where l.s > o.total / 10`, 1},
	{`select o.id from orders o join customer c on c.id = o.customer where o.total > (select avg(total) from orders)`, 2},
	{`select o.id, (select count(*) from lines l where l.order_id = o.id) from orders o where o.id < 30`, 0},
	{`with big as materialized (select id, customer from orders where total > 800) select b.id, c.name from big b join customer c on c.id = b.customer`, 1},
	{`select c.id, o.id from customer c cross join lateral (select id from orders where customer = c.id order by id limit 1) o where c.id < 40`, 0},
	{`select 'a', id from orders where total > 900 union all select 'b', o.id from orders o join customer c on c.id = o.customer where c.balance < 0`, 2},
	{`select l.order_id, sum(l.qty) from lines l where l.qty > (select 0.2 * avg(qty) from lines m where m.part = l.part) group by l.order_id`, 2},
}

// inputs returns how many inputs of a plan's jobs are mirrors.
func inputs(node harness.Node) (mirrors int) {
	for _, job := range node.Jobs() {
		for _, input := range job.Inputs() {
			if input.Text("Feed") == "mirror" {
				mirrors++
			}
		}
	}
	return mirrors
}

// compare executes a query at the source, and in the local session in several modes.
func (w *world) compare(q joinQuery) {
	w.t.Helper()
	want := w.source.query(q.sql)
	for _, mode := range q.modes() {
		w.local.exec("set " + mode)
		got, err := w.local.Query(bounded(w.t), q.sql)
		if err != nil {
			w.t.Errorf("%s: %s: %s", mode, q.sql, errorText(err))
			continue
		}
		if d := harness.SameRows(want, got); d != "" {
			w.t.Errorf("%s: %s: %s", mode, q.sql, d)
		}
		if mode != "gpujoin.debug_force = on" {
			continue
		}
		node, err := w.local.Explain(bounded(w.t), "analyze, timing off", q.sql)
		if err != nil {
			w.t.Errorf("%s: %v", q.sql, err)
			continue
		}
		if n := inputs(node); n < q.mirrors {
			w.t.Errorf("%s: %d inputs are mirrors, not %d", q.sql, n, q.mirrors)
		}
		node.All(func(n harness.Node) bool {
			if reason := n.Text("Fallback"); reason != "" {
				w.t.Errorf("%s: %s", q.sql, reason)
			}
			return true
		})
	}
	w.local.exec("reset gpujoin.debug_force; reset gpujoin.verify; reset gpujoin.enabled")
}

// Joins and aggregations of mirrored tables return what they return at the source.
func TestMirroredJoins(t *testing.T) {
	w := newWorld(t, shared, joinSchema)
	w.imports(nil, "customer", "orders", "lines", "parts", "regions")
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			w.local.exec("analyze customer; analyze orders; analyze lines; analyze parts; analyze regions")
		}
		for _, q := range joinQueries {
			w.compare(q)
		}
	}
}

// The same of tables that are read directly.
func TestJoinsDirectly(t *testing.T) {
	w := newWorld(t, shared, joinSchema)
	w.imports(map[string]string{"mirror": "off"})
	for i, q := range joinQueries {
		if i%3 == 0 {
			w.compare(q)
		}
	}
}

// Foreign tables are joined with local ones, which are fed or kept.
func TestJoinsWithLocalTables(t *testing.T) {
	w := newWorld(t, shared, joinSchema)
	w.imports(nil, "customer", "orders", "lines", "parts", "regions")
	w.local.exec("create table here as select * from src.orders; alter table here alter customer set not null; create table small as select * from src.regions; analyze here; analyze small")
	w.source.exec("create table here as select * from orders; create table small as select * from regions; analyze here; analyze small")
	queries := []joinQuery{
		{`select h.id, c.name from here h join customer c on c.id = h.customer where c.balance > 60`, 1},
		{`select h.id, l.no from here h left join lines l on l.order_id = h.id where h.total < 100`, 1},
		{`select s.name, c.id from customer c join small s on s.id = c.region`, 1},
		{`select s.name, count(*), sum(h.total) from here h join customer c on c.id = h.customer join small s on s.id = c.region group by s.name`, 1},
		{`select h.id from here h where not exists (select from customer c where c.id = h.customer and c.segment = 'AUTO')`, 1},
		{`select c.id from customer c where c.id not in (select customer from here where total > 20)`, 1},
		{`select h.id, o.id from here h join orders o on o.id = h.id and o.code = h.code`, 1},
		{`select h.id from here h join (select part, max(order_id) as m from lines group by part) x on x.m = h.id`, 0},
	}
	for _, keep := range []string{"off", "auto"} {
		w.local.exec("set gpujoin.keep = " + keep)
		for range 3 { // a table is kept after it was fed
			for _, q := range queries {
				w.compare(q)
			}
		}
	}
}

// Parameters, prepared statements, cursors and rescans.
func TestJoinParameters(t *testing.T) {
	w := newWorld(t, shared, joinSchema)
	w.imports(nil, "customer", "orders", "lines", "parts", "regions")
	w.local.exec("set gpujoin.debug_force = on; set plan_cache_mode = force_generic_plan")
	const sql = `select o.id, c.name from orders o join customer c on c.id = o.customer where c.balance > $1 and o.tag = $2 and o.day < $3`
	for _, s := range []*session{w.source, w.local} {
		s.exec("prepare q (numeric, text, date) as " + sql)
	}
	for _, values := range []string{"(20, 'tag3', '2021-06-01')", "(20.555, 'tag19', '2021-02-01')", "(null, 'tag1', '2022-01-01')", "('nan', 'tag1', '2022-01-01')", "(-5, 'tag1', 'infinity')"} {
		w.same("execute q " + values)
	}
	w.same(`select c.id, (select count(*) from lines l join parts p on p.id = l.part where l.order_id = c.id and p.size > c.region) from customer c where c.id < 20`)
	w.same(`select c.id, x.n from (values (1), (2), (5)) c(id), lateral (select count(*) as n from orders o join customer k on k.id = o.customer where k.region = c.id) x`)

	w.local.exec("begin; declare k cursor for select o.id from orders o join customer c on c.id = o.customer order by o.id")
	if got := strings.Join(w.local.query("fetch 3 from k").Rows, " "); got != "1 2 3" {
		t.Errorf("the cursor's first rows are %s", got)
	}
	w.source.exec("delete from orders where id = 4")
	if got := strings.Join(w.local.query("fetch 2 from k").Rows, " "); got != "4 6" {
		t.Errorf("the cursor's next rows are %s", got)
	}
	w.local.exec("commit")
	w.same(`select count(*) from orders o join customer c on c.id = o.customer`)
}

// Who may not read a foreign table, or some rows of it, does not read them through a join.
func TestJoinPrivileges(t *testing.T) {
	w := newWorld(t, shared, joinSchema)
	w.imports(nil, "customer", "orders")
	user := "reader_" + w.database
	w.local.exec("create role " + user + " login; create user mapping for " + user + ` server src options (user 'postgres', password_required 'false');
		grant usage on schema src to ` + user + `; grant select on orders to ` + user + `; grant select (id, name, region) on customer to ` + user + `;
		create view public.rich with (security_barrier) as select id, name, balance from customer where balance > 60;
		grant select on public.rich to ` + user)
	reader := w.connectAs(w.Local, user)
	reader.exec("set search_path = src, public; set gpujoin.debug_force = on")
	reader.fails("42501", "permission denied", "select c.balance from orders o join customer c on c.id = o.customer")
	for _, sql := range []string{
		"select o.id, c.name from orders o join customer c on c.id = o.customer where c.region = 2",
		"select count(*) from orders o join customer c on c.id = o.customer",
	} {
		if d := harness.SameRows(w.source.query(sql), reader.query(sql)); d != "" {
			t.Errorf("%s: %s", sql, d)
		}
	}
	// The view reads as its owner, whose mapping is another one.
	for _, condition := range []string{"r.balance < 70", "r.name like 'c1%'", "10 / (r.id - 3) > -100"} {
		sql := "select o.id, r.name from orders o join rich r on r.id = o.customer where " + condition
		same := strings.Replace(sql, "rich r", "(select id, name, balance from customer where balance > 60) r", 1)
		want := w.source.query(strings.Replace(same, "10 / (r.id - 3) > -100", "true", 1)) // row 3 is hidden
		got, err := reader.Query(bounded(t), sql)
		if err != nil {
			t.Errorf("%s: %s", sql, errorText(err))
		} else if d := harness.SameRows(want, got); d != "" {
			t.Errorf("%s: %s", sql, d)
		}
	}
}
