package scaleout

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/shards"
	"gpujoin/tests/harness/sqltest"
)

// An aggregate by the key by which rows are divided is sent to the nodes as a whole, which
// offload it, whatever part of a cursor's rows they plan for.
func TestGroupByShardKey(t *testing.T) {
	for schema, n := range map[string]int{"whole": 1, "tenth": 1, "native": 0} {
		s := session(t, schema)
		expect(t, s, shards.ByKey, shards.ByKey, n, n)
		if plan := sqltest.Explain(t, s, "", shards.ByKey); n > 0 && asyncScans(plan) != 2 {
			t.Errorf("%s: not two scans at the same time: %v", schema, plan)
		}
	}
}

// Rows of a join are fetched by a cursor. It is planned for the part of them that
// cursor_tuple_fraction says, and with a small one natively. The node says why.
func TestCursorTupleFraction(t *testing.T) {
	for schema, n := range map[string]int{"whole": 1, "tenth": 0, "native": 0} {
		expect(t, session(t, schema), shards.ByOthers, shards.ByOthers, n, n)
	}
	s := sqltest.SessionIn(t, world.Nodes[0].Cluster, "postgres", "set gpujoin.explain_rejected = on")
	const cursor = "explain declare c cursor for select o_priority, l_flag, l_price from orders join lineitem on o_key = l_order"
	sqltest.Exec(t, s, cursor)
	if n := s.Notices(); len(n) != 1 || !strings.HasPrefix(n[0], "NOTICE: join of orders, lineitem stays native: cursor\n") {
		t.Errorf("a tenth: %q", n)
	}
	sqltest.Exec(t, s, "set cursor_tuple_fraction = 1")
	sqltest.Exec(t, s, cursor)
	if n := s.Notices(); len(n) != 0 {
		t.Errorf("all rows: %q", n)
	}
}

// An aggregate by other columns becomes one aggregate a node if it is written that way.
func TestUnionAllOfAggregates(t *testing.T) {
	s := session(t, "tenth")
	sql := shards.ByOthersOfParts(2)
	expect(t, s, sql, shards.ByOthers, 1, 1)
	if plan := sqltest.Explain(t, s, "", sql); asyncScans(plan) != 2 {
		t.Errorf("not two scans at the same time: %v", plan)
	}
}

// A small table of which each node has a copy is joined in a view of the nodes.
func TestViewOverCopies(t *testing.T) {
	const view = `create or replace view nations as select c_nation, count(*) as n, sum(l_price) as price
		from orders join lineitem on o_key = l_order join customer on c_key = o_cust group by c_nation`
	var tables strings.Builder
	for i, n := range world.Nodes {
		sqltest.Exec(t, n.Session, view)
		fmt.Fprintf(&tables, "create foreign table if not exists whole.nations_%[1]d (c_nation bigint, n bigint, price numeric) server whole_%[1]d options (schema_name 'public', table_name 'nations');", i+1)
	}
	s := session(t, "whole", tables.String())
	expect(t, s, "select c_nation, sum(n), sum(price) from (select * from nations_1 union all select * from nations_2) part group by c_nation",
		"select c_nation, count(*), sum(l_price) from orders join lineitem on o_key = l_order join customer on c_key = o_cust group by c_nation", 1, 1)
	if plan := sqltest.Explain(t, s, "", "select * from nations_1 union all select * from nations_2"); asyncScans(plan) != 2 {
		t.Errorf("not two scans at the same time: %v", plan)
	}
}

// Joins that no single server can execute run natively on the coordinator, even if joins
// are forced, and the only reason is that their tables are foreign.
func TestJoinsAcrossServers(t *testing.T) {
	s := session(t, "whole", sqltest.Forced, "set gpujoin.explain_rejected = on")
	reason := regexp.MustCompile(`stays? native: (\w+)`)
	for _, c := range []struct{ sql, reference string }{
		{"select count(*), sum(l_price) from lineitem_1 join customer on l_order = c_key",
			"select count(*), sum(l_price) from lineitem join customer on l_order = c_key"},
		{"select count(*), sum(a.o_price) from orders_1 a join orders_2 b on a.o_key = b.o_key - 60000",
			"select count(*), sum(o_price) from orders where o_key <= 60000"},
	} {
		s.Notices()
		expect(t, s, c.sql, c.reference)
		said := reason.FindAllStringSubmatch(strings.Join(s.Notices(), "\n"), -1)
		if len(said) == 0 {
			t.Errorf("%s: no reason", c.sql)
		}
		for _, m := range said {
			if m[1] != "foreign" {
				t.Errorf("%s: %s", c.sql, m[1])
			}
		}
	}
}

// The remote statement of a join with a parameter runs once for each of its values.
func TestParameters(t *testing.T) {
	s := session(t, "whole", "set enable_hashjoin = off; set enable_mergejoin = off")
	const sql = `select c_key, c_name, part.* from customer, lateral (select count(*) as n, sum(l_price) as price
		from %s join %s on o_key = l_order where o_cust > c_key %s offset 0) part where c_key in (5, 1500, 2990)`
	before := jobs(t)[0]
	got := sqltest.Query(t, s, fmt.Sprintf(sql, "orders_1", "lineitem_1", ""))
	if d := harness.SameRows(single(t, fmt.Sprintf(sql, "orders", "lineitem", "and o_key <= 60000")), got); d != "" {
		t.Error(d)
	}
	if n := jobs(t)[0] - before; n < 2 {
		t.Errorf("%d jobs", n)
	}
}

// The statements of a transaction see a node as it was at the first of them, offloaded or
// not.
func TestSnapshot(t *testing.T) {
	const sql = "select sum(l_price) from orders_1 join lineitem_1 on o_key = l_order"
	for _, schema := range []string{"whole", "native"} {
		s := session(t, schema)
		sqltest.Exec(t, s, "begin isolation level repeatable read")
		old := sqltest.Query(t, s, sql).Rows[0]
		sqltest.Exec(t, world.Nodes[0].Session, "update lineitem set l_price = l_price + 1 where l_order <= 100")
		if now := sqltest.Query(t, s, sql).Rows[0]; now != old {
			t.Errorf("%s: %s after %s in one transaction", schema, now, old)
		}
		sqltest.Exec(t, s, "commit")
		more := sqltest.Query(t, s, "select ("+sql+") - "+old).Rows[0]
		sqltest.Exec(t, world.Nodes[0].Session, "update lineitem set l_price = l_price - 1 where l_order <= 100")
		if more != "300.00" {
			t.Errorf("%s: %s more in the next transaction", schema, more)
		}
	}
}

// Tables that have just been copied to a node have no statistics. The planner then expects
// other numbers of rows, until ANALYZE.
func TestAnalyzeAfterMove(t *testing.T) {
	n := world.Nodes[1]
	s := sqltest.SessionIn(t, n.Cluster, "postgres", "create table moved_orders as table orders; create table moved_lineitem as table lineitem")
	defer sqltest.Exec(t, n.Session, "drop table moved_orders, moved_lineitem")
	const sql = "select o_priority, l_flag, count(*) from moved_orders join moved_lineitem on o_key = l_order group by o_priority, l_flag"
	const join = "select o_priority, l_flag from moved_orders join moved_lineitem on o_key = l_order"
	want := sqltest.Query(t, n.Session, strings.ReplaceAll(sql, "moved_", ""))
	const rows = 3 * orders
	for _, c := range []struct {
		what        string
		least, most float64
	}{{"select", 10 * rows, 1e300}, {"analyze moved_orders, moved_lineitem", rows / 2, rows * 2}} {
		sqltest.Exec(t, s, c.what)
		if expected := sqltest.Explain(t, s, "", join).Number("Plan Rows"); expected < c.least || expected > c.most {
			t.Errorf("after %s, %.0f rows are expected", c.what, expected)
		}
		if d := harness.SameRows(want, sqltest.Query(t, s, sql)); d != "" {
			t.Errorf("after %s: %s", c.what, d)
		}
	}
	if plan := sqltest.Explain(t, s, "analyze, timing off", sql); plan.OffloadedBlocks() != 1 {
		t.Errorf("not offloaded after ANALYZE: %v", plan)
	}
}
