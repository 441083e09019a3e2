package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// Constants that no value of the column can equal, and those at the limits of
// its range: the page feed compares them as PostgreSQL does, with all six
// operators, and raises an error only if PostgreSQL does.
func TestNumericBounds(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, `
		create schema if not exists bounds; set search_path = bounds, public;
		drop table if exists prices, small;
		create table prices (k int8, a numeric(12,2), b numeric(18,0), c numeric(18,18));
		insert into prices select n, n * 1.25, -n, n * 1e-18 from generate_series(-1000, 1000) n;
		insert into prices values (1, 'NaN', 'NaN', 'NaN'), (2, null, null, null), (3, 0, 0, 0),
			(4, 9999999999.99, 999999999999999999, 0.999999999999999999),
			(5, -9999999999.99, -999999999999999999, -0.999999999999999999);
		create table small as select generate_series(-1000::int8, 1000) as k;
		analyze prices, small`, "set gpujoin.page_row_cost = 0")
	constants := []string{
		"1e131071", "-1e131071", "9.999e131071", "1e-16383", "-1e-16383", "'NaN'", "'Infinity'", "'-Infinity'", "0",
		"9999999999.99", "9999999999.991", "-9999999999.99", "-9999999999.989", "999999999999999999", "-999999999999999999",
		"1000000000000000000", "-1000000000000000000", "9223372036854775807", "0.999999999999999999", "0.9999999999999999991",
		"1e18", "1e19", "1e22", "12.5", "12.505", "-12.505", "1e-18", "-1e-18", "1e-19", "-1e-19",
	}
	exec(t, s, forced)
	if plan := explain(t, s, "", "select p.a from prices p join small s using (k) where p.a > -1e131071::numeric"); len(plan.OffloadJoins()) != 1 || !plan.OffloadJoins()[0].FedBy("page") {
		t.Fatalf("not fed by pages: %v", plan.OffloadJoins())
	}
	for _, column := range []string{"a", "b", "c"} {
		for _, op := range []string{"<", "<=", "=", ">=", ">", "<>"} {
			for _, constant := range constants {
				sameAsNative(t, s, fmt.Sprintf("select p.* from prices p join small s using (k) where p.%s %s %s::numeric", column, op, constant))
			}
		}
	}
	exec(t, s, "drop schema bounds cascade")
	w.Unharmed(t, s)
}

// A numeric bound leaks no memory when its join is rescanned.
func TestNumericBoundsMemory(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, `
		create schema if not exists bounds; set search_path = bounds, public;
		drop table if exists prices, small;
		create table prices (k int8, a numeric(12,2));
		insert into prices select n, n from generate_series(1, 100) n;
		create table small as select generate_series(1::int8, 100) as k;
		create or replace function used(n int8) returns int8 volatile language plpgsql as
			'begin return (select sum(used_bytes) from pg_backend_memory_contexts where name = ''ExecutorState''); end';
		analyze prices, small`, "set gpujoin.page_row_cost = 0; set enable_memoize = off", forced)
	const sql = `
		select x.n, used(x.n) from generate_series(0.07, 30, 0.1) g,
			lateral (select count(*) as n from prices p join small s using (k) where p.a > g) x`
	if plan := explain(t, s, "", sql); len(plan.OffloadJoins()) != 1 || !plan.OffloadJoins()[0].FedBy("page") {
		t.Fatalf("not fed by pages: %v", plan.OffloadJoins())
	}
	rows := query(t, s, sql).Rows
	// The native plan is tried after about a hundred scans, and allocates then.
	var n, first, last int
	for i, to := range map[int]*int{120: &first, len(rows) - 1: &last} {
		if _, err := fmt.Sscanf(strings.NewReplacer("|", " ", ",", " ", "\t", " ").Replace(rows[i]), "%d %d", &n, to); err != nil {
			t.Fatalf("%q: %v", rows[i], err)
		}
	}
	if last > first+2000 {
		t.Errorf("the query's memory grew from %d to %d bytes in 180 scans", first, last)
	}
	exec(t, s, "drop schema bounds cascade")
	w.Unharmed(t, s)
}
