package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

// Values longer than an extent (1 MB here) travel in pieces; values around that
// size, and compressed and external ones, like any other.
func TestLongValues(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, `
		create schema if not exists long; set search_path = long, public;
		drop table if exists big, small;
		create table big (k int8, kind text, v text, b bytea);
		alter table big alter column v set storage external;
		insert into big select n, 'external', repeat(md5(n::text), n * 1000), null from generate_series(0, 40) n;
		insert into big select n, 'edge', rpad('', (1 << 20) - 200 + n, md5(n::text)), null from generate_series(0, 40) n;
		insert into big values (1, 'chained', repeat('0123456789abcdef', 300000), null), (2, 'chained', '', decode(repeat('00ff', 1500000), 'hex'));
		insert into big select 3, 'compressed', null, decode(repeat('00', 3000000), 'hex');
		create table small as select i as k, 'row ' || i as note from generate_series(0::int8, 40) i;
		analyze big, small`)
	for _, workers := range []int{0, 2} {
		for _, leader := range []string{"on", "off"} {
			exec(t, s, fmt.Sprintf("set max_parallel_workers_per_gather = %d; set parallel_leader_participation = %s", workers, leader))
			sameAsNative(t, s, "select s.note, b.kind, length(b.v), md5(b.v), length(b.b), md5(b.b) from big b join small s using (k)")
			exec(t, s, forced)
			const text = "select b.v, b.b, s.note from big b join small s using (k) where b.kind = 'chained'"
			if n := explain(t, s, "analyze, timing off", text).OffloadedJoins(); n != 1 {
				t.Errorf("%d workers: %d joins offloaded instead of 1", workers, n)
			}
		}
	}
	// As a key, such a value makes the join native before the first row.
	for _, sql := range []string{
		"select a.kind, length(b.v) from big a join big b on a.v = b.v",
		"select a.kind, length(b.v) from big a join big b on a.k = b.k and a.v = b.v and a.kind = b.kind",
	} {
		sameAsNative(t, s, sql)
	}
	exec(t, s, "drop schema long cascade")
	w.Unharmed(t, s)
}

// A job with more than 2,000 texts leaves less room for a text in a batch than the
// longest one that has a header of one byte. Longer ones are chained. Those of r are fed
// for the condition alone, because a job returns fewer columns.
func TestManyTexts(t *testing.T) {
	const columns, arguments = 1100, 100
	w := theWorld(t)
	s := w.Session(t, "set max_parallel_workers_per_gather = 0")
	var left, right []string
	for i := range columns {
		left = append(left, fmt.Sprintf("l.c%d", i))
		right = append(right, fmt.Sprintf("r.c%d", i))
	}
	for _, table := range []string{"l", "r"} {
		exec(t, s, fmt.Sprintf("create table %s (k int8, %s text)", table, strings.ReplaceAll(strings.Join(left, " text, "), "l.", "")))
		defer exec(t, s, "drop table "+table)
		for i := range 30 { // 30 texts of 100 to 129 bytes, each in another column
			exec(t, s, fmt.Sprintf("insert into %s (k, c%d, c%d) values (%d, repeat('%s', %d), 'short')",
				table, i*36, i*36+1, i, table, 100+i))
		}
		exec(t, s, "analyze "+table)
	}
	var outputs []string
	for some := range slices.Chunk(left, arguments) {
		outputs = append(outputs, "concat("+strings.Join(some, ", ")+")")
	}
	sql := "select k, " + strings.Join(outputs, ", ") + " from l join r using (k) where l.c0 is null or " +
		strings.Join(right, " is null or ") + " is null"
	sameAsNative(t, s, sql)
	if n := explain(t, s, "analyze", sql).OffloadedJoins(); n != 1 {
		t.Errorf("%d joins were offloaded", n)
	}
}

func TestVerify(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, "set gpujoin.verify = on")
	for _, sql := range []string{
		theJoin,
		"select count(*), sum(d.v) from fact f join dim d on f.k = d.k",
		"select f.id from fact f join dim d on f.k = d.k where d.v < 0",
		"select * from fact f join dim d on f.k = d.k limit 10",
	} {
		if strings.HasSuffix(sql, "limit 10") {
			exec(t, s, forced)
			if n := len(query(t, s, sql).Rows); n != 10 {
				t.Errorf("%d rows instead of 10", n)
			}
			continue
		}
		sameAsNative(t, s, sql)
	}
	w.Unharmed(t, s)
}

// Users without privileges get PostgreSQL's own errors and rows: offloading
// reads nothing that they may not read.
func TestPrivileges(t *testing.T) {
	w := newWorld(t)
	admin := w.Session(t, `
		create role clerk login;
		create table ledger as select i as k, i % 3 as owner, 'secret ' || i as memo from generate_series(1::int8, 3000) i;
		create table names as select i as k, 'name ' || i as name from generate_series(1::int8, 3000) i;
		alter table ledger enable row level security;
		create policy mine on ledger using (owner = 1);
		grant select on ledger to clerk;
		grant select (k) on names to clerk;
		analyze ledger, names`)
	ctx, cancel := bounded()
	defer cancel()
	clerk, err := w.Cluster.ConnectAs(ctx, "clerk", "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer clerk.Close()
	for _, mode := range []string{native, forced} {
		exec(t, clerk, mode)
		if _, err := clerk.Query(ctx, "select name from names join ledger using (k)"); harness.SQLState(err) != "42501" {
			t.Errorf("%s a forbidden column: %v", mode, err)
		}
		if n := query(t, clerk, "select count(*) from names join ledger using (k)").Rows[0]; n != "1000" {
			t.Errorf("%s %s rows pass the policy instead of 1000", mode, n)
		}
		if n := query(t, admin, mode+"select count(*) from names join ledger using (k)").Rows[0]; n != "3000" {
			t.Errorf("%s the owner sees %s rows instead of 3000", mode, n)
		}
	}
	// Only a superuser may choose the socket.
	if err := clerk.Exec(ctx, "set gpujoin.socket = '/tmp/mine'"); harness.SQLState(err) != "42501" {
		t.Errorf("a user set gpujoin.socket: %v", err)
	}
	if _, err := clerk.Query(ctx, "select * from gpujoin.status()"); harness.SQLState(err) != "42501" {
		t.Errorf("a user asked for gpujoin.status(): %v", err)
	}
	w.Unharmed(t, clerk)
}
