package differential

import "fmt"

// condition draws a condition over columns of s that raises no error.
func (q *query) condition(s side, depth int) *Node {
	if depth > 0 {
		again := func() *Node { return q.condition(s, depth-1) }
		switch q.IntN(8) {
		case 0:
			return text("condition", "(%s)", list("", " and ", "", 1, again(), again()))
		case 1:
			return text("condition", "(%s)", list("", " or ", "", 1, again(), again()))
		case 2:
			return text("condition", "(not %s)", again())
		case 3:
			return text("condition", "(%s is "+one(q.Generator, "", "not ")+one(q.Generator, "true", "false", "unknown")+")", again())
		}
	}
	kind := one(q.Generator, "int", "int", "int", "int", "fixed", "fixed", "text", "date", "timestamp", "bool")
	if q.IntN(20) == 0 {
		kind = "numeric"
	}
	if kind == "text" {
		return q.textCondition(s)
	}
	value := func() *Node { return q.value(s, kind, min(depth, 1), true) }
	op := one(q.Generator, "<", "<=", ">", ">=", "<>", "<>", "=")
	if q.IntN(30) == 0 {
		op = one(q.Generator, "is distinct from", "is not distinct from")
	}
	if kind == "int" && q.IntN(20) == 0 {
		return text("condition", "(%s "+one(q.Generator, "= any ('{}')", "<> all ('{}')", "= any ('{null,7}')", "<> all ('{null,7}')", "> any ('{3,7}')", "<= all ('{20,30}')")+")", q.value(s, kind, 1, true))
	}
	switch q.IntN(8) {
	case 0:
		return text("condition", q.anyColumn(s)+one(q.Generator, " is null", " is not null", " is not null"))
	case 1:
		return text("condition", "(%s "+one(q.Generator, "in", "not in")+" (%s))", value(),
			list("", ", ", "", 1, q.constant(kind), q.constant(kind), text(kind, one(q.Generator, "null", constants[kind][0]))))
	case 2:
		return text("condition", "(%s between %s and %s)", value(), q.constant(kind), q.constant(kind))
	case 3, 4:
		return text("condition", "(%s "+op+" %s)", value(), value())
	case 5:
		return text("condition", fmt.Sprintf("(%%s %s %d)", op, q.IntN(40)), q.value(s, "int", 1, true))
	}
	return text("condition", "(%s "+op+" %s)", value(), q.constant(kind))
}

// textCondition compares texts or characters.
func (q *query) textCondition(s side) *Node {
	switch q.IntN(10) {
	case 8:
		return text("condition", "(%s "+one(q.Generator, "ilike 'NAME 1%'", "not ilike '%ÜSS%'", "like 'name!_1' escape '!'", "like '%a1%' escape 'a'",
			"~ '^n.*[0-9]$'", "similar to '(name|x)%'", "= any ('{}')", "<> all ('{name 1,null}')")+")", q.value(s, "text", 1, true))
	case 9:
		if c := q.column(s, "nocase"); c != nil {
			return text("condition", "(%s "+one(q.Generator, "= 'NAME 1'", "<> 'name 2'", "in ('NAME 3', 'name 4', 'E')", `collate "C" like 'Name 1%'`, "is not null")+")", c)
		}
	case 0:
		return text("condition", "(%s "+one(q.Generator, "in", "not in")+" (%s))", q.value(s, "text", 1, true),
			list("", ", ", "", 1, q.constant("text"), q.constant("text"), text("text", "null")))
	case 1, 2:
		return text("condition", "(%s "+one(q.Generator, "=", "<>")+" %s)", q.value(s, "text", 1, true), q.value(s, "text", 0, true))
	case 3:
		if q.IntN(6) == 0 {
			return text("condition", "(%s "+one(q.Generator, "<", ">=")+" %s)", q.value(s, "text", 1, true), q.constant("text"))
		}
		return text("condition", `(%s collate "C" `+one(q.Generator, "<", ">=", "<>")+" %s)", q.value(s, "text", 1, true), q.constant("text"))
	case 4, 5:
		if c := q.column(s, "bpchar"); c != nil {
			return text("condition", "(%s "+one(q.Generator, "= 'code 1'", "<> 'code 1  '", "in ('code 2', 'ä')", "like 'code 1%'", "like 'code _'", "= any ('{code 3,null}')")+")", c)
		}
	}
	return text("condition", "(%s "+one(q.Generator, "like", "not like")+" "+
		one(q.Generator, "'name 1%'", "'%1'", "'name _'", "'%üß%'", "''", "'%a%e%'", `'name\_1'`, "'%'")+")", q.value(s, "text", 1, true))
}
