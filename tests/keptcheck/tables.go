package keptcheck

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// table is a table that writers change and readers query. All have the same columns.
type table struct {
	name  string
	rows  int // ids are 0 to rows - 1; at times some are missing, or there twice
	pad   int // bytes of each row that no query reads
	cold  bool
	leafs int // partitions; 0: a plain table
}

// tables of a run. Those of a short run have fewer rows.
//
// fact and dim change in few places; other is rewritten by all kinds of DDL; swap is
// replaced by a copy, again and again; frozen is filled by COPY FREEZE; calm seldom
// changes, so that its groups are proved by the visibility map alone; wide has one row a
// page and two groups.
func tables(quick bool) []table {
	list := []table{
		{name: "fact", rows: 30000, pad: 220},
		{name: "dim", rows: 12000, pad: 260},
		{name: "other", rows: 12000, pad: 200},
		{name: "calm", rows: 12000, pad: 300, cold: true},
		{name: "swap", rows: 5000, pad: 220},
		{name: "frozen", rows: 5000, pad: 220},
		{name: "part", rows: 12000, pad: 220, leafs: 4},
	}
	if quick {
		for i := range list {
			list[i].rows /= 4
		}
		return list
	}
	return append(list, table{name: "wide", rows: 33400, pad: 6000, cold: true})
}

// columns that each table always has. padding makes pages have few rows.
const columns = "id, k, g, p, n, nn, t, u, d, ts, f, b, padding"

const columnTypes = `(gone1 int, id int8 not null, k int4 not null, g int2, p int2 not null, gone2 text, n numeric(12,2), nn numeric,
	t text, u varchar(20), d date, ts timestamptz, f float8, b bool, padding text)`

// values are expressions over i, the id, and the table's number of rows and padding.
func (t *table) values() string {
	return fmt.Sprintf(`i, ((i * 7919 + 13) %% %[1]d)::int4, nullif(i %% 23, 7)::int2, (i %% 4)::int2,
		nullif((i * 37) %% 5000, 11)::numeric / 100, case when i %% 50 = 3 then 'NaN' when i %% 9 = 0 then null else (i * 131 %% 977)::numeric / 7 end,
		case i %% 11 when 5 then null when 6 then '' else md5((i %% 700)::text) end, 'u' || (i %% 97),
		date '2020-01-01' + (i %% 900)::int, timestamptz '2021-03-01 10:00+00' + (i %% 5000) * interval '17 minutes',
		case when i %% 31 = 0 then null else (i * 17 %% 1009)::float8 / 3 end, nullif(i %% 6, 2) > 2,
		repeat('.', %[2]d + (i %% 40)::int)`, t.rows, t.pad)
}

// insert returns a statement that inserts the rows of ids from - to.
func (t *table) insert(from, to int) string {
	return fmt.Sprintf("insert into %s (%s) select %s from generate_series(%d::int8, %d) i", t.name, columns, t.values(), from, to)
}

// create returns the statements that create the table without rows. The partitions differ
// in the order of their columns.
func (t *table) create() string {
	if t.leafs == 0 {
		return fmt.Sprintf(`create table %[1]s %[2]s with (fillfactor = 92); alter table %[1]s drop gone1, drop gone2;
			alter table %[1]s alter padding set storage plain; %[3]s`, t.name, columnTypes, t.indexes())
	}
	var sql strings.Builder
	fmt.Fprintf(&sql, "create table %[1]s %[2]s partition by list (p); alter table %[1]s drop gone1, drop gone2;", t.name, columnTypes)
	for i := range t.leafs {
		leaf := fmt.Sprintf("%s_%d", t.name, i)
		fmt.Fprintf(&sql, `create table %[1]s %[2]s; alter table %[1]s drop gone1, drop gone2;
			alter table %[3]s attach partition %[1]s for values in (%[4]d);`, leaf, columnTypes, t.name, i)
	}
	sql.WriteString(t.indexes())
	return sql.String()
}

func (t *table) indexes() string {
	return fmt.Sprintf("create index on %[1]s (id); create index on %[1]s (k);", t.name)
}

// relations returns what can be vacuumed: the table or its partitions.
func (t *table) relations() []string {
	if t.leafs == 0 {
		return []string{t.name}
	}
	var names []string
	for i := range t.leafs {
		names = append(names, fmt.Sprintf("%s_%d", t.name, i))
	}
	return names
}

// rangeOf draws a short range of ids, which lie in few blocks as long as rows have not moved.
func (t *table) rangeOf(r *rand.Rand) (from, to int) {
	length := min(1+r.IntN(60), t.rows)
	if t.pad > 1000 {
		length = 1 + r.IntN(5)
		if r.IntN(2) == 0 { // where the first group ends
			return 32660 + r.IntN(20), 32684
		}
	}
	from = r.IntN(t.rows - length + 1)
	return from, from + length - 1
}

// extra are the names of columns that are added, renamed and dropped.
var extra = []string{"x1", "x2", "x3"}

// setup creates everything that readers query.
func setup(list []table) []string {
	sql := []string{"create extension gpujoin"}
	for i := range list {
		t := &list[i]
		sql = append(sql, t.create(), t.insert(0, t.rows-1))
	}
	return append(sql,
		"create materialized view summary as select id, k, g, p, n, nn, t, u, d, ts, f, b, padding from dim where g < 12",
		"create unique index on summary (id, k, g, p, n)",
		functions, "vacuum", "analyze")
}

// functions return the sorted rows of a query as one text. They are stable, so both see the
// snapshot of the statement that calls them.
const functions = `
	create function native_rows(query text) returns text stable language plpgsql
		set gpujoin.enabled = off set max_parallel_workers_per_gather = 0 as $$
	declare r text; begin
		execute 'select string_agg(x::text, chr(10) order by x::text collate "C") from (' || query || ') x' into r; return r;
	end $$;
	create function kept_rows(query text) returns text stable language plpgsql
		set gpujoin.enabled = on set gpujoin.debug_force = on as $$
	declare r text; begin
		execute 'select string_agg(x::text, chr(10) order by x::text collate "C") from (' || query || ') x' into r; return r;
	end $$`
