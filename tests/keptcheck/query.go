package keptcheck

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// queries draws queries of the tables. No result depends on the order of rows.
type queries struct {
	*rand.Rand
	tables []table
}

func one[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// query is a query and the tables that it reads.
type query struct {
	sql    string
	tables []string
}

// source draws a table, a partition, or a materialized view.
func (q *queries) source() (name string, rows int) {
	t := &q.tables[q.IntN(len(q.tables))]
	if t.name == "wide" && q.IntN(2) == 0 {
		t = &q.tables[0]
	}
	if t.leafs > 0 && q.IntN(8) > 0 {
		return one(q.Rand, t.relations()...), t.rows
	}
	if q.IntN(20) == 0 {
		return "summary", 12000
	}
	return t.name, t.rows
}

// condition draws a condition on a table's columns. share is roughly what passes, in percent.
func (q *queries) condition(a string, rows, share int) string {
	from := q.IntN(rows)
	part := fmt.Sprintf("%s.id between %d and %d", a, from, from+rows*share/100)
	more := one(q.Rand,
		fmt.Sprintf("%s.g in (1, 2, 5, %d)", a, q.IntN(23)),
		fmt.Sprintf("%s.g is distinct from %d", a, q.IntN(23)),
		fmt.Sprintf("%s.n > %d.5", a, q.IntN(45)),
		fmt.Sprintf("%s.n is null", a),
		fmt.Sprintf("%s.nn <= %d", a, q.IntN(150)),
		fmt.Sprintf("%s.t like '%x%%'", a, q.IntN(16)),
		fmt.Sprintf("%s.t in ('', 'x', md5('%d'))", a, q.IntN(700)),
		fmt.Sprintf("%s.t is not null and %s.u <> 'u%d'", a, a, q.IntN(97)),
		fmt.Sprintf("%s.u = 'u%d'", a, q.IntN(97)),
		fmt.Sprintf("%s.d between date '2020-01-01' + %d and date '2021-06-01'", a, q.IntN(600)),
		fmt.Sprintf("%s.d >= date '2020-02-01' + interval '%d months'", a, q.IntN(20)),
		fmt.Sprintf("extract(year from %s.d) = %d", a, 2020+q.IntN(3)),
		fmt.Sprintf("%s.ts < timestamptz '2021-03-10 00:00+00' + interval '%d hours'", a, q.IntN(900)),
		fmt.Sprintf("%s.f < %d.25", a, q.IntN(340)),
		fmt.Sprintf("%s.b", a),
		fmt.Sprintf("not %s.b or %s.g = 3", a, a),
		fmt.Sprintf("(%s.k + %s.id) %% 7 < %d", a, a, 1+q.IntN(6)),
		fmt.Sprintf("%s.k between %d and %d", a, from, from+rows/3),
		fmt.Sprintf("length(%s.t) > 3", a),
		fmt.Sprintf("%s.p = %d", a, q.IntN(4)),
		fmt.Sprintf("(%s.g < 4 or %s.n > 20 and %s.f > 100)", a, a, a),
	)
	switch {
	case share >= 100 && q.IntN(3) == 0:
		return "true"
	case share >= 100:
		return more
	case q.IntN(2) == 0:
		return part
	}
	return part + " and " + more
}

// sums draws aggregates over columns of a table.
func (q *queries) sums(a string) string {
	list := []string{
		"count(*)", "count(" + a + ".n)", "sum(" + a + ".k)", "sum(" + a + ".id)", "min(" + a + ".n)", "sum(" + a + ".n)", "max(" + a + ".t)",
		"min(" + a + ".u)", "max(" + a + ".d)", "min(" + a + ".ts)", "max(" + a + ".f)", "count(" + a + ".b)", "avg(" + a + ".g)",
		"sum(" + a + ".nn)", "count(distinct " + a + ".g)", "bool_or(" + a + ".b)",
	}
	q.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	list = list[:1+q.IntN(4)]
	if q.IntN(12) == 0 {
		list = append(list, "count("+a+"."+one(q.Rand, extra...)+")")
	}
	return strings.Join(list, ", ")
}

// draw draws a query.
func (q *queries) draw() query {
	a, rows := q.source()
	b, others := q.source()
	key := one(q.Rand, "a.k = b.id", "a.id = b.id", "a.k = b.k", "a.id = b.k", "a.k = b.k and a.g = b.g")
	and := func(share int) string {
		return q.condition("a", rows, share) + " and " + q.condition("b", others, share)
	}
	two := query{tables: []string{a, b}}
	switch q.IntN(12) {
	case 0:
		two.sql = fmt.Sprintf("select count(*) from %s a join %s b on %s", a, b, key)
	case 1:
		two.sql = fmt.Sprintf("select %s, %s from %s a join %s b on %s where %s", q.sums("a"), q.sums("b"), a, b, key, and(100))
	case 2:
		two.sql = fmt.Sprintf("select a.g, %s, %s from %s a join %s b on %s where %s group by a.g", q.sums("a"), q.sums("b"), a, b, key, and(100))
	case 3:
		two.sql = fmt.Sprintf("select a.id, a.t, a.n, b.k, b.nn, b.d, b.u, b.f from %s a join %s b on %s where %s", a, b, key, q.condition("a", rows, 2))
	case 4:
		two.sql = fmt.Sprintf("select a.id, a.ts, a.b, b.id, b.t from %s a left join %s b on %s and %s where %s",
			a, b, key, q.condition("b", others, 100), q.condition("a", rows, 2))
	case 5:
		two.sql = fmt.Sprintf("select count(*), sum(a.k), max(a.t) from %s a where %sexists (select from %s b where %s and %s) and %s",
			a, one(q.Rand, "", "not "), b, key, q.condition("b", others, 50), q.condition("a", rows, 100))
	case 6:
		two.sql = fmt.Sprintf("select count(*), count(a.id), count(b.id), sum(a.id), sum(b.k) from (select * from %s a where %s) a full join (select * from %s b where %s) b on a.id = b.id",
			a, q.condition("a", rows, 30), b, q.condition("b", others, 30))
	case 7:
		c, more := q.source()
		two.tables = append(two.tables, c)
		two.sql = fmt.Sprintf("select %s, sum(c.k), min(b.t) from %s a join %s b on %s join %s c on b.k = c.id where %s and %s",
			q.sums("a"), a, b, key, c, and(100), q.condition("c", more, 100))
	case 8:
		two.sql = fmt.Sprintf("select b.d, b.b, %s from %s a join %s b on %s where %s group by b.d, b.b", q.sums("a"), a, b, key, and(30))
	case 9, 10:
		return query{fmt.Sprintf("select a.g, a.b, %s from %s a where %s group by a.g, a.b", q.sums("a"), a, q.condition("a", rows, 100)), []string{a}}
	default:
		return query{fmt.Sprintf("select %s, count(*) from %s a where %s", q.sums("a"), a, q.condition("a", rows, 100)), []string{a}}
	}
	return two
}
