package differential

import (
	"fmt"
	"regexp"
	"strings"
)

// parameters are types and values of a prepared statement's parameters, by kind.
var parameters = map[string]struct {
	sqlType string
	values  []string
}{
	"int":       {"int", []string{"0", "1", "7", "20", "-3", "32767", "null"}},
	"text":      {"text", []string{"'name 1'", "''", "'name 17'", "'Grüße'", "null"}},
	"date":      {"date", []string{"'2020-01-07'", "'2020-06-29'", "'infinity'", "null"}},
	"timestamp": {"timestamp", []string{"'2020-01-01 10:20:00.000001'", "'-infinity'"}},
	"bool":      {"bool", []string{"true", "false", "null"}},
}

// statement is the prepared statement that is being drawn.
type statement struct {
	types []string
	kinds []string
}

// parameter draws a parameter of the prepared statement, nil if the query is none
// or the kind has no parameters.
func (g *Generator) parameter(kind string) *Node {
	p, known := parameters[kind]
	if g.prepared == nil || !known {
		return nil
	}
	g.prepared.types = append(g.prepared.types, p.sqlType)
	g.prepared.kinds = append(g.prepared.kinds, kind)
	return text(kind, fmt.Sprintf("$%d", len(g.prepared.types)))
}

// single draws an expression that has one value in the whole query, which the
// planner does not know. The values do not depend on the time of day, so that two
// runs of the query return the same.
func (q *query) single() output {
	kind := one(q.Generator, "int", "text", "date", "bool")
	if q.prepared != nil && q.IntN(3) > 0 {
		return output{q.parameter(kind), kind}
	}
	t := one(q.Generator, q.Tables...).Name
	sql := map[string][]string{
		"int":  {"(current_date - current_date)", "(select max(id) from " + t + ")", "(select count(*) from " + t + " where id < 3)"},
		"text": {"(select max(id)::text from " + t + ")"},
		"date": {"least(current_date, date '2020-01-07')"},
		"bool": {"(now() is null)", "exists (select from " + t + " where id = 3)", "(7 in (select id from " + t + "))"},
	}
	return output{text("", one(q.Generator, sql[kind]...)), kind}
}

// pin draws a condition that leaves one value of a key: since PostgreSQL 16, the
// planner drops such a key. Other keys than columns may raise errors, which
// conditions must not.
func (q *query) pin(keys []output) []*Node {
	k := one(q.Generator, keys...)
	if constants[k.kind] == nil || !plainColumn.MatchString(k.sql.String()) {
		return nil
	}
	return []*Node{text("condition", "%s = %s", k.sql, q.constant(k.kind))}
}

// script returns the statements that prepare a query and execute it with several
// values, or the query if it has no parameters.
func (g *Generator) script(sql *Node) *Node {
	p := g.prepared
	if p == nil || len(p.types) == 0 {
		return sql
	}
	pattern := "prepare q(" + strings.Join(p.types, ", ") + ") as %s"
	for range 2 {
		var values []string
		for _, kind := range p.kinds {
			values = append(values, one(g, parameters[kind].values...))
		}
		pattern += endOfStatement + "execute q(" + strings.Join(values, ", ") + ")"
	}
	return text("", pattern, sql)
}

var plainColumn = regexp.MustCompile(`^r\d+\.c\d+$`)

// endOfStatement separates the statements of a script.
const endOfStatement = ";\n"

// lastStatement splits a script into its last statement and those before it.
func lastStatement(script string) (before, last string) {
	i := strings.LastIndex(script, endOfStatement)
	if i < 0 {
		return "", script
	}
	return script[:i], script[i+len(endOfStatement):]
}
