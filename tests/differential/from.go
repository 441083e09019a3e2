package differential

import "fmt"

// query is the state while one query is drawn.
type query struct {
	*Generator
	used []Table // r0, r1 ...
	with *Node   // common table expressions
	ctes []Table // those that may be read again
	rows float64 // roughly, of the largest result of a join
	safe bool    // draws no expression that raises an error
}

// side is a part of FROM and the aliases in it.
type side struct {
	sql     *Node
	members []int
	rows    float64
}

// keyValues is the number of distinct values that a key column roughly has.
const keyValues = 35

// maxRows bounds the rows that a query's joins are expected to have.
const maxRows = 60000

// add gives a table the next alias.
func (q *query) add(t Table, pattern string, children ...*Node) side {
	return q.addNamed(t, pattern, "", children...)
}

// addNamed gives a table the next alias, and its columns these names.
func (q *query) addNamed(t Table, pattern, columns string, children ...*Node) side {
	i := len(q.used)
	q.used = append(q.used, t)
	q.rows = max(q.rows, float64(t.Rows))
	return side{sql: text("from", pattern+fmt.Sprintf(" r%d%s", i, columns), children...), members: []int{i}, rows: float64(t.Rows)}
}

// table draws a table or a subquery.
func (q *query) table(depth int) side {
	t := one(q.Generator, q.Tables...)
	if len(q.ctes) > 0 && q.IntN(4) == 0 {
		t = one(q.Generator, q.ctes...)
		return q.add(t, t.Name)
	}
	switch q.IntN(12) {
	case 0:
		return q.input()
	case 1, 2:
		if depth > 0 {
			return q.derived(depth - 1)
		}
	}
	return q.add(t, t.Name)
}

// derived draws a subquery in FROM.
func (q *query) derived(depth int) side {
	for {
		// A plan need not run a subquery if other rows suffice.
		inner := query{Generator: q.Generator, safe: true, ctes: q.ctes}
		sql, table := inner.block(depth)
		if inner.rows > maxRows {
			continue
		}
		if q.IntN(6) == 0 {
			q.withs++
			table.Name = fmt.Sprintf("w%d", q.withs)
			q.with.children = append(q.with.children, text("", table.Name+one(q.Generator, " as (", " as materialized (")+"%s)", sql))
			q.ctes = append(q.ctes[:len(q.ctes):len(q.ctes)], table)
			return q.add(table, table.Name)
		}
		// Core evaluates and plans the one with OFFSET 0 on its own.
		return q.add(table, "(%s"+one(q.Generator, "", " offset 0")+")", sql)
	}
}

func (q *query) from(n, depth int) side {
	if n == 1 {
		return q.table(depth)
	}
	k := 1 + q.IntN(n-1)
	left, right := q.from(k, depth), q.from(n-k, depth)
	kind := one(q.Generator, "join", "join", "left join", "left join", "right join", "full join")
	on, rows := q.on(left, right)
	q.rows = max(q.rows, rows)
	return side{
		sql:     text("from", "(%s "+kind+" %s on %s)", left.sql, right.sql, list("", " and ", "", 1, on...)),
		members: append(append([]int{}, left.members...), right.members...),
		rows:    max(rows, left.rows, right.rows),
	}
}

// on draws a condition with a key or two, and the number of its matches.
func (q *query) on(left, right side) (conditions []*Node, rows float64) {
	conditions, rows = append(conditions, q.key(left, right)), left.rows*right.rows/keyValues
	if rows > maxRows/4 || q.IntN(6) == 0 {
		conditions = append(conditions, q.key(left, right))
		rows /= keyValues / 2
	}
	if q.IntN(3) == 0 {
		conditions = append(conditions, q.relation(left, right))
	}
	if q.IntN(4) == 0 {
		conditions = append(conditions, q.few(one(q.Generator, left, right))...)
	}
	return conditions, rows
}

// few draws a condition that leaves few rows of one table, by whose keys others
// may be filtered.
func (q *query) few(s side) []*Node {
	i := one(q.Generator, s.members...)
	if !q.used[i].numbered {
		return nil
	}
	return []*Node{text("condition", fmt.Sprintf("r%d.id < %d", i, 1+q.IntN(12)))}
}

// key draws an equality of columns of each side.
func (q *query) key(left, right side) *Node {
	for try := 0; ; try++ {
		l, r := one(q.Generator, left.members...), one(q.Generator, right.members...)
		x, y := q.IntN(len(q.used[l].Columns)), q.IntN(len(q.used[r].Columns))
		f, g := q.used[l].Columns[x].family, q.used[r].Columns[y].family
		if f == g && f != "" || comparable(f, g) && q.IntN(2) == 0 {
			return text("", fmt.Sprintf("r%d.c%d = r%d.c%d", l, x, r, y))
		}
		if try > 200 {
			// Subqueries may have no column in common: their number is roughly known.
			q.rows = max(q.rows, left.rows*right.rows)
			return text("", fmt.Sprintf(`r%d.c%d::text collate "C" = r%d.c%d::text`, l, x, r, y))
		}
	}
}

// relation compares both sides by a condition that is no key.
func (q *query) relation(left, right side) *Node {
	op := one(q.Generator, "<", "<=", ">", ">=", "<>", "is distinct from")
	kind := one(q.Generator, "int", "int", "int", "timestamp", "date", "numeric", "fixed", "text")
	a, b := q.column(left, kind), q.column(right, kind)
	if a == nil || b == nil {
		return text("condition", q.anyColumn(left)+" is not null")
	}
	compare := text("condition", "%s "+op+" %s", a, b)
	switch q.IntN(6) {
	case 0:
		return text("condition", "not (%s and "+q.anyColumn(left)+" is not null)", compare)
	case 1:
		return text("condition", "(%s or "+q.anyColumn(right)+" is null)", compare)
	case 2:
		return text("condition", `%s::text collate "C" < `+q.anyColumn(right)+"::text", text("", q.anyColumn(left)))
	}
	return compare
}

// anyColumn returns a column of any type.
func (q *query) anyColumn(s side) string {
	i := one(q.Generator, s.members...)
	return fmt.Sprintf("r%d.c%d", i, q.IntN(len(q.used[i].Columns)))
}

// column returns a column of the kind, nil if there is none.
func (q *query) column(s side, kind string) *Node {
	var found []string
	for _, i := range s.members {
		for c, t := range q.used[i].Columns {
			if k := t.kind(); k == kind || kind == "numeric" && (k == "fixed" || k == "loose") {
				found = append(found, fmt.Sprintf("r%d.c%d", i, c))
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return text(kind, one(q.Generator, found...))
}

// subquery is a condition that becomes a semi or anti join, or none.
func (q *query) subquery(outer side, depth int) *Node {
	inner := q.from(1+q.IntN(2), depth)
	var where []*Node
	if q.IntN(3) == 0 {
		where = append(where, q.condition(inner, 1))
	}
	if q.IntN(3) == 0 {
		kind := one(q.Generator, "int", "int", "date", "text", "fixed")
		o, i := q.column(outer, kind), q.column(inner, kind)
		if o != nil && i != nil {
			group := list("", "", "", 0)
			if q.IntN(3) == 0 {
				group = list(" group by ", ", ", "", 0, i)
				if q.IntN(2) == 0 {
					group = list(" group by ", "", one(q.Generator, " having count(*) > 1", " having sum(1) < 3", ""), 0, i)
				}
			}
			return text("condition", "%s "+one(q.Generator, "in", "in", "in", "not in")+" (select %s from %s%s%s)",
				o, i, inner.sql, list(" where ", " and ", "", 0, where...), group)
		}
	}
	on, _ := q.on(outer, inner)
	return text("condition", one(q.Generator, "exists", "not exists")+" (select from %s%s)", inner.sql,
		list(" where ", " and ", "", 1, append(on, where...)...))
}
