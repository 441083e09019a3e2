package differential

import (
	"fmt"
	"strings"
)

// Kinds whose equal values look the same, so that any of them may represent a
// group.
var keyKinds = []string{"int", "int", "fixed", "text", "bpchar", "date", "timestamp", "timestamptz", "bool", "uuid", "oid",
	"bytea", "inet", "time", "timetz", "bit", "mood", "loose"}

// aggregate draws an aggregate and its result's kind, "" if that is no kind of
// expressions.
func (q *query) aggregate(s side, depth int) (*Node, string) {
	filter := list(" filter (where ", "", ")", 0)
	if q.IntN(4) == 0 {
		filter.children = append(filter.children, q.condition(s, 1))
	}
	distinct := list("", "", " ", 0)
	if q.IntN(8) == 0 {
		distinct.children = append(distinct.children, text("", "distinct"))
	}
	call := func(name, kind string) *Node {
		return text("", name+"(%s%s)%s", distinct, q.value(s, kind, depth, q.safe), filter)
	}
	number := one(q.Generator, "int", "int", "fixed")
	switch q.IntN(15) {
	case 0, 1:
		return text("", "count(*)%s", filter), "int"
	case 2:
		if q.IntN(4) == 0 {
			return q.loose(s, one(q.Generator, "count", "sum", "avg"), distinct, filter)
		}
		return call("count", one(q.Generator, "int", "text", "date", "fixed", "timestamp")), "int"
	case 3:
		return text("", "count("+q.anyColumn(s)+")%s", filter), "int"
	case 4, 5, 6:
		if number == "int" {
			return q.sumOfIntegers(call("sum", number))
		}
		return call("sum", number), "fixed"
	case 7:
		// The number of decimals depends on the rows.
		distinct.children = nil
		if q.IntN(3) > 0 {
			return text("", one(q.Generator, "sum", "avg")+"(%s)%s", q.mixedScales(s, depth), filter), "numeric"
		}
		return call(one(q.Generator, "sum", "avg"), "numeric"), "numeric"
	case 8, 9:
		if f := q.column(s, "float"); f != nil && q.IntN(4) == 0 {
			// Multiples of a quarter: their sums do not depend on the order of rows.
			return text("", one(q.Generator, "sum", "avg")+"(case when %s > 0.05 and %s < 0.2 then 0.5 else %s end)%s", f, f, f, filter), ""
		}
		return call("avg", number), "numeric"
	case 10, 11:
		kind := one(q.Generator, "int", "int", "fixed", "date", "timestamp", "text")
		name := one(q.Generator, "min", "max")
		if q.IntN(4) == 0 {
			return q.loose(s, name, distinct, filter)
		}
		if f := q.column(s, "float"); f != nil && q.IntN(4) == 0 {
			// Of 0 and -0, which are equal, the order of rows decides. Plus 0, both are 0.
			return text("", "0 + "+name+"(%s)%s", f, filter), ""
		}
		if kind == "text" && q.IntN(12) > 0 {
			return text("", name+`(%s collate "C")%s`, q.value(s, kind, depth, q.safe), filter), kind
		}
		return call(name, kind), kind
	case 12:
		return text("", one(q.Generator, "bool_and", "bool_or", "every")+"(%s)%s", q.value(s, "bool", depth, q.safe), filter), "bool"
	case 13:
		name := one(q.Generator, "stddev", "stddev_pop", "variance", "var_pop")
		if q.IntN(4) == 0 {
			return text("", name+"(%s)%s", q.mixedScales(s, depth), filter), "numeric"
		}
		return text("", name+"(%s)%s", q.value(s, number, depth, q.safe), filter), "numeric"
	}
	return q.sumOfIntegers(call("sum", "int"))
}

// sumOfIntegers returns a sum as it is, an int8 or a numeric, of which nothing else is
// made, or as a numeric.
func (q *query) sumOfIntegers(sum *Node) (*Node, string) {
	if q.IntN(2) == 0 {
		return sum, ""
	}
	return text("", "(%s * 1.0)", sum), "fixed"
}

// loose draws an aggregate of a column without a declared scale.
func (q *query) loose(s side, name string, distinct, filter *Node) (*Node, string) {
	kind := map[string]string{"count": "int", "min": "loose", "max": "loose"}[name]
	if kind == "" {
		kind = "numeric"
	}
	c := q.column(s, "loose")
	if c == nil {
		return text("", "count(*)%s", filter), "int"
	}
	return text("", name+"(%s%s)%s", distinct, c, filter), kind
}

// mixedScales draws a numeric whose number of decimals depends on the row.
func (q *query) mixedScales(s side, depth int) *Node {
	exact, constant := q.value(s, "fixed", depth, q.safe), q.constant("numeric")
	if q.IntN(3) == 0 {
		return text("numeric", "coalesce(%s, %s)", exact, constant)
	}
	return text("numeric", "case when %s then %s else %s end", q.condition(s, 1), exact, constant)
}

// output is an expression of the select list.
type output struct {
	sql  *Node
	kind string // "": none that is grouped or compared
}

// above draws an expression over aggregates.
func (q *query) above(s side, depth int) output {
	a, kind := q.aggregate(s, depth)
	switch {
	case q.IntN(6) > 0 || kind == "":
		return output{a, kind}
	case kind == "int" && !q.safe:
		return output{text("", "%s * 2 + 1", a), kind}
	case kind == "fixed" || kind == "numeric" || kind == "loose":
		if q.IntN(2) == 0 {
			return output{text("", "round(%s, 2)", a), "numeric"}
		}
		return output{text("", "%s / nullif(count(*), 0)", a), "numeric"}
	case kind == "bool":
		return output{text("", "(not %s)", a), kind}
	}
	return output{text("", "coalesce(%s, %s)", a, q.constant(kind)), kind}
}

// keys draws GROUP BY expressions.
func (q *query) keys(s side) []output {
	var keys []output
	for range q.IntN(4) {
		kind := one(q.Generator, keyKinds...)
		k := q.column(s, kind)
		if k == nil {
			continue
		}
		if constants[kind] != nil && q.IntN(3) == 0 {
			k = q.value(s, kind, 1, q.safe)
		}
		if !strings.Contains(k.String(), "c") {
			continue // a constant integer would be an ordinal
		}
		keys = append(keys, output{k, kind})
	}
	if q.IntN(10) == 0 {
		keys = append(keys, q.single())
	}
	return keys
}

// conditionOverGroups is for HAVING.
func (q *query) conditionOverGroups(s side) *Node {
	for {
		a, kind := q.aggregate(s, 1)
		op := one(q.Generator, "<", ">", ">=", "<>")
		switch kind {
		case "int", "fixed", "numeric", "loose":
			return text("condition", "%s "+op+" "+one(q.Generator, "0", "1", "25", "100", "1000.5"), a)
		case "bool":
			return text("condition", "%s", a)
		case "date":
			return text("condition", "%s "+op+" date '2020-01-10'", a)
		}
	}
}

// block draws a query level of any kind, and describes its columns.
func (q *query) block(depth int) (*Node, Table) {
	q.with = list("with ", ", ", " ", 0)
	n := one(q.Generator, 1, 1, 2, 2, 2, 3, 4)
	from := q.from(n, depth)
	where := list(" where ", " and ", "", 0)
	for range one(q.Generator, 0, 0, 0, 1, 1, 2) {
		where.children = append(where.children, q.condition(from, 2))
	}
	if q.IntN(3) == 0 {
		where.children = append(where.children, q.subquery(from, depth))
	}
	rest := []*Node{from.sql, where}
	switch {
	case len(q.used) > 1 && q.IntN(6) == 0:
		return q.plain(from, rest)
	case q.IntN(24) == 0:
		return q.distinct(from, rest)
	}
	return q.grouped(from, rest)
}

// finish joins a select list with the rest of the query.
func (q *query) finish(word string, outputs []output, rest []*Node, rows float64) (*Node, Table) {
	columns := list("", ", ", "", 1)
	t := Table{Rows: int(min(rows, 1e6))}
	for i, o := range outputs {
		columns.children = append(columns.children, text("", fmt.Sprintf("%%s as c%d", i), o.sql))
		t.Columns = append(t.Columns, columnType{name: o.kind, family: familyOf(o.kind)})
	}
	children := append([]*Node{q.with, columns}, rest...)
	return text("query", "%sselect "+word+"%s from "+strings.Repeat("%s", len(rest)), children...), t
}

// familyOf returns the family of a kind's columns in a subquery.
func familyOf(kind string) string {
	switch kind {
	case "fixed", "loose":
		return "numeric"
	case "bool":
		return ""
	}
	return kind
}

func (q *query) plain(from side, rest []*Node) (*Node, Table) {
	var outputs []output
	for range 1 + q.IntN(6) {
		if kind := one(q.Generator, keyKinds...); q.IntN(3) == 0 && constants[kind] != nil {
			outputs = append(outputs, output{q.value(from, kind, 2, q.safe), kind})
			continue
		}
		i := one(q.Generator, from.members...)
		c := q.IntN(len(q.used[i].Columns))
		outputs = append(outputs, output{text("", fmt.Sprintf("r%d.c%d", i, c)), q.used[i].Columns[c].kind()})
	}
	return q.finish("", outputs, rest, from.rows)
}

func (q *query) distinct(from side, rest []*Node) (*Node, Table) {
	keys := q.keys(from)
	if len(keys) == 0 {
		return q.grouped(from, rest)
	}
	if q.IntN(4) == 0 {
		where := rest[1]
		where.children = append(where.children, q.pin(keys)...)
	}
	return q.finish("distinct ", keys, rest, min(from.rows, keyValues*keyValues))
}

func (q *query) grouped(from side, rest []*Node) (*Node, Table) {
	outputs := q.keys(from)
	if len(outputs) > 0 && q.IntN(8) == 0 {
		where := rest[1]
		where.children = append(where.children, q.pin(outputs)...)
	}
	group := list(" group by ", ", ", "", 0)
	rows := 1.0
	for _, k := range outputs {
		group.children = append(group.children, k.sql)
		rows *= keyValues
	}
	dependent := false
	if i := one(q.Generator, from.members...); q.used[i].numbered && q.IntN(3) == 0 {
		id := text("", fmt.Sprintf("r%d.id", i))
		group.children = append(group.children, id)
		if q.used[i].keyed {
			// All columns depend on the primary key.
			dependent = true
			c := q.IntN(len(q.used[i].Columns))
			outputs = append(outputs, output{text("", fmt.Sprintf("r%d.c%d", i, c)), q.used[i].Columns[c].kind()})
		} else {
			outputs = append(outputs, output{id, "int"})
		}
		rows = from.rows
	}
	if len(outputs) > 1 && q.IntN(4) == 0 {
		outputs = outputs[1:] // not every key is returned
	}
	if len(group.children) > 0 && !dependent && q.IntN(6) == 0 {
		if len(outputs) == len(group.children) && q.IntN(6) == 0 {
			// One expression is two keys.
			outputs = append(outputs, outputs[0])
			group.children = append(group.children, text("", fmt.Sprint(len(outputs))))
		}
		outputs = append(outputs, output{text("", "grouping(%s)", group.children[0]), "int"})
		group = q.sets(group.children)
	}
	for range 1 + q.IntN(3) {
		outputs = append(outputs, q.above(from, one(q.Generator, 0, 0, 0, 1, 1, 2)))
	}
	having := list(" having ", " and ", "", 0)
	if q.IntN(4) == 0 {
		having.children = append(having.children, q.conditionOverGroups(from))
	}
	return q.finish("", outputs, append(rest, group, having), min(rows, from.rows))
}

// sets draws a GROUP BY of several grouping sets.
func (q *query) sets(keys []*Node) *Node {
	kind := one(q.Generator, "rollup", "cube", "grouping sets")
	group := list(" group by "+kind+" (", ", ", ")", 1)
	group.children = keys
	if kind == "grouping sets" && q.IntN(2) == 0 {
		return text("", "%s, rollup (%s)", group, one(q.Generator, keys...))
	}
	return group
}

// Query draws a query, or statements that prepare and execute one. Its result stays
// small enough to be compared.
func (g *Generator) Query() *Node {
	for {
		g.prepared = nil
		if g.IntN(6) == 0 {
			g.prepared = &statement{}
		}
		q := query{Generator: g}
		if sql, t := q.block(2); q.rows <= maxRows {
			if f := t.Columns[0].family; f != "" && f != "nocase" && g.IntN(16) == 0 {
				sql = text("query", "select q.*, "+one(g, windows...)+" from (%s) q", sql)
			}
			return g.script(sql)
		}
	}
}

// windows are calls whose results do not depend on the order of equal rows.
var windows = []string{
	"count(*) over (partition by q.c0)",
	"rank() over (order by q.c0)",
	"dense_rank() over (order by q.c0 desc nulls last), count(q.c0) over ()",
	"max(q.c0::text) over (order by q.c0 range unbounded preceding)",
}
