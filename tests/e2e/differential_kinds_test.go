package e2e

import (
	"fmt"
	"strings"
)

// mixed draws queries of joins of all kinds over a generator's tables.
type mixed struct {
	*generator
	used []genTable // r0, r1 ...
	rows float64    // roughly, of the largest result of a join
}

// side is a part of FROM: SQL and the aliases in it.
type side struct {
	sql     string
	members []int
	rows    float64
}

// keyValues is the number of distinct values that a key column roughly has.
const keyValues = 35

// maxRows bounds the rows that a query's joins are expected to have.
const maxRows = 60000

// kindsQuery draws a query of one to four tables joined in FROM, and up to two
// that only its conditions read.
func (g *generator) kindsQuery() string {
	for {
		m := mixed{generator: g}
		if sql := m.query(); m.rows <= maxRows {
			return sql
		}
	}
}

func (m *mixed) query() string {
	from := m.from(1 + m.IntN(4))
	var where []string
	for range m.IntN(3) {
		where = append(where, m.filter(from))
	}
	for range m.IntN(3) {
		where = append(where, m.subquery(from))
	}
	if len(m.used) == 1 {
		where = append(where, m.subquery(from))
	}
	sql := " from " + from.sql
	if len(where) > 0 {
		sql += " where " + strings.Join(where, " and ")
	}
	key := m.column(from.members)
	switch m.IntN(8) {
	case 0:
		return fmt.Sprintf("select count(*), count(%s)", key) + sql
	case 1:
		return fmt.Sprintf("select %s is null, count(*)", key) + sql + " group by 1"
	}
	columns := []string{key}
	for range m.IntN(5) {
		columns = append(columns, m.column(from.members))
	}
	return "select " + strings.Join(columns, ", ") + sql
}

// table draws a table and gives it the next alias.
func (m *mixed) table() side {
	i := len(m.used)
	t := m.tables[m.IntN(len(m.tables))]
	m.used = append(m.used, t)
	sql := fmt.Sprintf("%s r%d", t.name, i)
	if m.IntN(8) == 0 {
		// What is computed below an outer join becomes NULL above it.
		sql = fmt.Sprintf("(select *, c%d is null as computed from %s) r%d", m.IntN(len(t.columns)), t.name, i)
	}
	m.rows = max(m.rows, float64(t.rows))
	return side{sql: sql, members: []int{i}, rows: float64(t.rows)}
}

func (m *mixed) from(n int) side {
	if n == 1 {
		return m.table()
	}
	k := 1 + m.IntN(n-1)
	left, right := m.from(k), m.from(n-k)
	kind := []string{"join", "join", "left join", "left join", "right join", "full join"}[m.IntN(6)]
	on, rows := m.on(left, right)
	m.rows = max(m.rows, rows)
	return side{
		sql:     fmt.Sprintf("(%s %s %s on %s)", left.sql, kind, right.sql, on),
		members: append(left.members, right.members...),
		rows:    max(rows, left.rows, right.rows),
	}
}

// on draws a condition with a key or two, and the number of its matches.
func (m *mixed) on(left, right side) (sql string, rows float64) {
	key := func() string {
		l, r := m.member(left), m.member(right)
		return m.equality(m.used[l], l, m.used[r], r)
	}
	sql, rows = key(), left.rows*right.rows/keyValues
	if rows > maxRows/4 || m.IntN(6) == 0 {
		sql += " and " + key()
		rows /= keyValues / 2
	}
	if m.IntN(3) == 0 {
		sql += " and " + m.comparison(left, right)
	}
	return sql, rows
}

func (m *mixed) member(s side) int { return s.members[m.IntN(len(s.members))] }

func (m *mixed) column(members []int) string {
	i := members[m.IntN(len(members))]
	return fmt.Sprintf("r%d.c%d", i, m.IntN(len(m.used[i].columns)))
}

// typed returns a column of the family.
func (m *mixed) typed(s side, family string) string {
	i := m.member(s)
	for {
		if c := m.IntN(len(m.used[i].columns)); m.used[i].columns[c].family == family {
			return fmt.Sprintf("r%d.c%d", i, c)
		}
	}
}

// comparison relates both sides, by what the daemon can evaluate or not.
func (m *mixed) comparison(left, right side) string {
	op := []string{"<", "<=", ">", ">=", "<>"}[m.IntN(5)]
	compare := func(family string) string {
		return m.typed(left, family) + " " + op + " " + m.typed(right, family)
	}
	integers := compare([]string{"int", "int", "timestamp", "timestamptz", "date"}[m.IntN(5)])
	switch m.IntN(6) {
	case 0:
		return fmt.Sprintf("not (%s and %s is not null)", integers, m.column(left.members))
	case 1:
		return fmt.Sprintf("(%s or %s is null)", integers, m.column(right.members))
	case 2:
		return compare("numeric")
	case 3:
		return fmt.Sprintf("%s %s %d", m.typed([]side{left, right}[m.IntN(2)], "int"), op, m.IntN(40))
	}
	return integers
}

// filter is a condition of WHERE, some of which an outer join's NULLs pass.
func (m *mixed) filter(s side) string {
	i := m.member(s)
	switch m.IntN(5) {
	case 0:
		return m.column(s.members) + " is null"
	case 1:
		return fmt.Sprintf("(%s is null or %s)", m.column(s.members), m.comparison(s, s))
	case 2:
		return fmt.Sprintf("coalesce(%s, 20) > %d", m.typed(s, "int"), m.IntN(30))
	case 3:
		return m.comparison(s, s)
	}
	return m.condition(m.used[i], i)
}

// subquery is a condition that becomes a semi or anti join, or none.
func (m *mixed) subquery(outer side) string {
	inner := m.from(1 + m.IntN(2))
	if m.IntN(4) == 0 {
		o, i := m.typed(outer, "int"), m.typed(inner, "int")
		where := ""
		if m.IntN(2) == 0 {
			where = " where " + m.filter(inner)
		}
		return fmt.Sprintf("%s %s (select %s from %s%s)", o, []string{"in", "in", "not in"}[m.IntN(3)], i, inner.sql, where)
	}
	on, _ := m.on(outer, inner)
	if m.IntN(4) == 0 {
		on += " and " + m.filter(inner)
	}
	return fmt.Sprintf("%s (select from %s where %s)", []string{"exists", "not exists"}[m.IntN(2)], inner.sql, on)
}
