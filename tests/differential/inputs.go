package differential

import (
	"fmt"
	"strings"
)

// input draws what is not a table or a subquery with a block of its own.
func (q *query) input() side {
	switch q.IntN(6) {
	case 0:
		return q.values()
	case 1:
		return q.function()
	case 2:
		return q.sublink()
	case 3:
		return q.computed()
	}
	return q.setOperation()
}

// values draws a list of rows.
func (q *query) values() side {
	kinds := []string{"int", one(q.Generator, "text", "date", "timestamp", "numeric")}
	rows := list("(values ", ", ", ")", 1)
	t := Table{Rows: 1 + q.IntN(12)}
	for range t.Rows {
		first := one(q.Generator, "null::int", fmt.Sprintf("%d::int", q.IntN(60)))
		rows.children = append(rows.children, text("", "("+first+", %s)", q.typed(kinds[1])))
	}
	var names []string
	for i, kind := range kinds {
		t.Columns = append(t.Columns, columnType{name: kind, family: kind})
		names = append(names, fmt.Sprintf("c%d", i))
	}
	return q.addNamed(t, "%s", "("+strings.Join(names, ", ")+")", rows)
}

// typed draws a constant that has its kind's type without other constants.
func (q *query) typed(kind string) *Node {
	if kind == "date" || kind == "timestamp" {
		return q.constant(kind)
	}
	return text("", "%s::"+kind, q.constant(kind))
}

// function draws a call that returns rows.
func (q *query) function() side {
	var call string
	var kinds []string
	switch q.IntN(5) {
	case 0:
		call, kinds = fmt.Sprintf("generate_series(%d, %d)", q.IntN(20), 10+q.IntN(50)), []string{"int"}
	case 1:
		call, kinds = "generate_series(timestamp '2020-01-01 10:00:00.000001', '2020-01-01 11:00:00', '1 min')", []string{"timestamp"}
	case 2:
		call, kinds = "unnest(array['name 1', null, 'name 1 ', 'Grüße', 'name 17', 'name 1']) with ordinality", []string{"text", "int"}
	case 3:
		call, kinds = "unnest(array[1, 7, null, 7, 32767], array['name 1', '', 'name 17'])", []string{"int", "text"}
	default:
		call, kinds = "rows from (generate_series(5, 25), generate_series(1, 30, 2)) with ordinality", []string{"int", "int", "int"}
	}
	t := Table{Rows: 30}
	var names []string
	for i, kind := range kinds {
		t.Columns = append(t.Columns, columnType{name: kind, family: kind})
		names = append(names, fmt.Sprintf("c%d", i))
	}
	return q.addNamed(t, call, "("+strings.Join(names, ", ")+")")
}

// sublink draws a subquery with subqueries in its expressions: one that runs
// once, and one that runs for each row.
func (q *query) sublink() side {
	t, other := one(q.Generator, q.Tables...), one(q.Generator, q.Tables...)
	t.keyed, t.numbered = false, false
	c := q.IntN(len(other.Columns))
	sub := one(q.Generator,
		fmt.Sprintf("(select count(c%d) from %s)", c, other.Name),
		fmt.Sprintf("(select max(v.x) from (values (1, 10), (2, null), (3, 30)) v(k, x) where v.k = %s.id %% 4)", t.Name))
	columns := append(append([]columnType{}, t.Columns...), columnType{name: "int", family: "int"})
	where := one(q.Generator, "", "", fmt.Sprintf(" where id %% 5 in (select %s.id %% 3 from %s where id < 9)", other.Name, other.Name),
		fmt.Sprintf(" where c0 is not null or id %% 7 = (select min(%s.id) from %s)", other.Name, other.Name))
	sql := fmt.Sprintf("(select *, %s::int as c%d from %s%s offset 0)", sub, len(t.Columns), t.Name, where)
	t.Columns = columns
	return q.add(t, sql)
}

// computed draws a subquery that core pulls up and that computes a column: it
// becomes NULL above an outer join, although its arguments are not NULL.
func (q *query) computed() side {
	t := one(q.Generator, q.Tables...)
	t.keyed = false
	c := q.IntN(len(t.Columns))
	expression, kind := fmt.Sprintf("coalesce(id %% 40, %d)", q.IntN(9)), "int"
	switch q.IntN(4) {
	case 0:
		expression, kind = fmt.Sprintf("c%d is null", c), "bool"
	case 1:
		expression = fmt.Sprintf("%d", q.IntN(50))
	case 2:
		expression, kind = fmt.Sprintf("case when c%d is null then 'name 1' else 'name 2' end", c), "text"
	}
	sql := fmt.Sprintf("(select *, %s as c%d from %s)", expression, len(t.Columns), t.Name)
	t.Columns = append(append([]columnType{}, t.Columns...), columnType{name: kind, family: familyOf(kind)})
	return q.add(t, sql)
}

// setOperation draws UNION and its like of two or three tables.
func (q *query) setOperation() side {
	families := []string{"int", one(q.Generator, "text", "date", "timestamp", "numeric", "uuid", "bpchar")}
	t := Table{}
	var arms []*Node
	for range 2 + q.IntN(2) {
		from := one(q.Generator, q.Tables...)
		columns := list("", ", ", "", 0)
		for i, family := range families {
			column := columnOf(from, family)
			if family == "bpchar" {
				// Equal values of different lengths look different, and which one a GROUP
				// BY shows depends on the order of rows.
				column += "::char(20)"
			}
			columns.children = append(columns.children, text("", fmt.Sprintf("%s as c%d", column, i)))
		}
		where := list(" where ", " and ", "", 0)
		if q.IntN(2) == 0 {
			where.children = append(where.children, text("condition", fmt.Sprintf("id < %d", q.IntN(4000))))
		}
		arms = append(arms, text("", "select %s from "+from.Name+"%s", columns, where))
		t.Rows += from.Rows
	}
	for _, family := range families {
		t.Columns = append(t.Columns, columnType{name: family, family: family})
	}
	operation := one(q.Generator, " union all ", " union all ", " union ", " intersect ", " except ", " except all ")
	return q.add(t, "(%s"+one(q.Generator, "", "", " offset 0")+")", list("", operation, "", 1, arms...))
}

// columnOf returns the first column of a family. Each table has one.
func columnOf(t Table, family string) string {
	for i, c := range t.Columns {
		if c.family == family {
			return fmt.Sprintf("c%d", i)
		}
	}
	return "null"
}
