package differential

import "fmt"

// Expressions are of two sorts. Safe ones raise no error: conditions consist of
// them, since a plan may evaluate a condition for more or fewer rows than
// another. Others may overflow or divide by zero, and raise an error in every
// plan or in none: they are aggregated, grouped or returned.

// Constants in SQL by kind, some of them the types' extremes.
var constants = map[string][]string{
	"int":       {"0", "1", "2", "7", "20", "-3", "32767", "2147483647", "(-2147483648)", "9223372036854775807", "5::int2", "30::int8"},
	"numeric":   {"0", "0.0", "1.5", "0.00", "1.0000", "-20.25", "100", "9999999999.99", "12.3456789"},
	"fixed":     {"1.50", "7.25", "0.01"},
	"text":      {"'name 1'", "''", "'name 17'", "'Grüße'", "'n'", "'name 1 '"},
	"date":      {"date '2020-01-07'", "date '2020-06-29'", "date 'infinity'", "date '0001-01-01 BC'"},
	"timestamp": {"timestamp '2020-01-01 10:20:00.000001'", "timestamp '-infinity'", "timestamp '2020-01-01'"},
	"bool":      {"true", "false"},
}

func (q *query) constant(kind string) *Node {
	if q.prepared != nil && q.IntN(2) == 0 {
		if p := q.parameter(kind); p != nil {
			return p
		}
	}
	return text(kind, one(q.Generator, constants[kind]...))
}

// value draws an expression of a kind over columns of s.
func (q *query) value(s side, kind string, depth int, safe bool) *Node {
	leaf := func() *Node {
		if c := q.column(s, kind); c != nil && q.IntN(25) > 0 {
			return c
		}
		return q.constant(kind)
	}
	if depth == 0 {
		return leaf()
	}
	again := func() *Node { return q.value(s, kind, depth-1, safe) }
	if kind == "fixed" {
		return q.fixed(s, depth, safe)
	}
	choice := q.IntN(9)
	if choice == 2 && kind == "text" {
		choice = 4 // such a block stays native
	}
	switch choice {
	case 0:
		return text(kind, "case when %s then %s else %s end", q.condition(s, depth-1), again(), again())
	case 1:
		return text(kind, "coalesce(%s, %s)", again(), again())
	case 2:
		return text(kind, "nullif(%s, %s)", again(), again())
	case 3:
		return text(kind, "case when %s then %s end", q.condition(s, depth-1), again())
	case 4, 5:
		return leaf()
	}
	switch kind {
	case "int":
		return q.integer(s, depth, safe)
	case "numeric":
		switch q.IntN(6) {
		case 4:
			return text(kind, one(q.Generator, "round(%s, 2)", "round(%s)", "trunc(%s, 1)", "abs(%s)", "floor(%s)", "ceil(%s)", "sign(%s)"), again())
		case 5:
			if !safe {
				return text(kind, "(%s::numeric("+one(q.Generator, "12,2", "18,6", "6,0")+"))", again())
			}
		case 0:
			return text(kind, "(%s::numeric)", q.value(s, "int", depth-1, safe))
		case 1:
			return q.part(s)
		case 2:
			return q.value(s, "fixed", depth-1, safe)
		}
		return text(kind, "(%s "+one(q.Generator, "+", "-", "*")+" %s)", again(), again())
	case "text":
		switch q.IntN(18) {
		case 16, 17:
			if c := q.column(s, "bpchar"); c != nil {
				return text(kind, one(q.Generator, "(%s::text)", "(%s::varchar)", "(%s || '.')", "coalesce(%s::text, '?')", "substr(%s, 2, 4)"), c)
			}
		case 0:
			return text(kind, "(%s || %s)", again(), again())
		case 1:
			return text(kind, one(q.Generator, "upper", "lower", "reverse", "initcap")+"(%s)", q.value(s, kind, 0, safe))
		case 2, 3, 4, 5:
			return text(kind, fmt.Sprintf("substr(%%s, %d)", q.IntN(8)-1), again())
		}
		return text(kind, fmt.Sprintf("substring(%%s from %d for %d)", q.IntN(8)-1, q.IntN(8)), again())
	case "date":
		if q.IntN(3) == 0 {
			return text(kind, one(q.Generator, "greatest", "least")+"(%s, %s)", again(), again())
		}
		if !safe && q.IntN(3) == 0 {
			return text(kind, "(%s::date)", q.value(s, "timestamp", 0, safe))
		}
		if !safe {
			return text(kind, "(%s "+one(q.Generator, "+", "-")+" %s)", again(), text("int", fmt.Sprint(q.IntN(400))))
		}
	case "timestamp":
		switch {
		case safe:
		case q.IntN(3) == 0:
			return text(kind, "(%s::timestamp)", q.value(s, "date", 0, safe))
		case q.IntN(3) == 0:
			return text(kind, "(%s "+one(q.Generator, "+", "-")+" interval '1 day 02:03:04.5')", again())
		default:
			return text(kind, "date_trunc('"+one(q.Generator, "second", "minute", "hour", "day", "week", "month")+"', %s)", again())
		}
	case "bool":
		return text(kind, "(%s)", q.condition(s, depth-1))
	}
	return leaf()
}

// integer draws an arithmetic expression.
func (q *query) integer(s side, depth int, safe bool) *Node {
	again := func() *Node { return q.value(s, "int", depth-1, safe) }
	if q.IntN(8) == 0 {
		return text("int", one(q.Generator, "greatest", "least")+"(%s, %s)", again(), again())
	}
	if q.IntN(24) == 0 {
		return text("int", one(q.Generator, "(%s & 7)", "(%s | 1)", "(%s # 5)", "(~ %s)", "(%s >> 1)"), again())
	}
	if q.IntN(24) == 0 {
		return text("int", one(q.Generator, "length(%s)", "octet_length(%s)", "strpos(%s, '1')"), q.value(s, "text", 0, safe))
	}
	if safe {
		return text("int", "(%s "+one(q.Generator, "/ 7", "% 10", "% 3", "/ 1000")+")", again())
	}
	switch q.IntN(15) {
	case 12:
		return text("int", one(q.Generator, "abs(%s)", "(@ %s)", "(+ %s)", "mod(%s, 7)", "(%s::int8)"), again())
	case 13:
		return text("int", "(%s::"+one(q.Generator, "int2", "int4", "int8")+")", again())
	case 14:
		return text("int", "(%s::"+one(q.Generator, "int4", "int8")+")", q.value(s, "fixed", depth-1, safe))
	case 0:
		return text("int", "(%s "+one(q.Generator, "/", "%")+" %s)", again(), again())
	case 1:
		return text("int", "(%s "+one(q.Generator, "/", "%")+" nullif(%s, 0))", again(), again())
	case 2:
		return text("int", "(- %s)", again())
	case 3, 4, 5:
		return text("int", "(%s "+one(q.Generator, "/ 7", "% 10", "% 3")+")", again())
	case 6:
		return text("int", "(%s::int8)", again())
	case 7:
		return text("int", "(%s * %s)", again(), again())
	}
	return text("int", "(%s "+one(q.Generator, "+", "-")+" %s)", again(), text("int", one(q.Generator, "1", "2", "100", "-5")))
}

// part draws a field of a date or timestamp.
func (q *query) part(s side) *Node {
	if q.IntN(3) == 0 {
		field := one(q.Generator, "year", "quarter", "day", "dow", "hour", "minute", "second", "microseconds", "epoch")
		return text("fixed", "extract("+field+" from %s)", q.value(s, "timestamp", 0, true))
	}
	field := one(q.Generator, "year", "month", "day", "quarter", "dow", "isodow")
	return text("fixed", "extract("+field+" from %s)", q.value(s, "date", 0, true))
}

// fixed draws a numeric whose scale depends on no row.
func (q *query) fixed(s side, depth int, safe bool) *Node {
	leaf := q.column(s, "fixed")
	if leaf == nil {
		leaf = q.constant("fixed")
	}
	again := func() *Node { return q.value(s, "fixed", depth-1, safe) }
	switch q.IntN(10) {
	case 8:
		call := one(q.Generator, "abs(%s)", "round(%s)", "round(%s, 1)", "trunc(%s, 1)", "floor(%s)", "ceil(%s)", "sign(%s)", "round(%s, 4)", "mod(%s, 1.5)", "div(%s, 3)")
		return text("fixed", call, again())
	case 9:
		if !safe {
			return text("fixed", "(%s::numeric"+one(q.Generator, "(8,1)", "(12,4)", "(5,2)")+")", again())
		}
		return text("fixed", "(%s % 7)", again())
	case 0:
		return text("fixed", "(%s "+one(q.Generator, "+", "-")+" %s)", again(), again())
	case 1:
		return text("fixed", "(%s * %s)", again(), again())
	case 2:
		return text("fixed", "(%s "+one(q.Generator, "* 2", "+ 1.5", "- 0.01", "* 0.10")+")", again())
	case 3:
		return text("fixed", "case when %s then %s end", q.condition(s, depth-1), again())
	case 4:
		return text("fixed", "(%s * (1 - %s))", again(), again())
	case 5:
		return q.part(s)
	}
	return leaf
}
