package differential

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// minimisation shortens a query, its settings and its tables while a
// difference stays.
type minimisation struct {
	w        *World
	ctx      context.Context
	query    *Node
	settings []string
	until    time.Time
}

// minimise returns a script that shows a difference with little data.
func (w *World) minimise(ctx context.Context, g *Generator, query *Node, settings []string, within time.Duration) (string, error) {
	m := &minimisation{w: w, ctx: ctx, query: query, settings: settings, until: time.Now().Add(within)}
	if err := w.s.Exec(ctx, "drop schema if exists small cascade; create schema small"); err != nil {
		return "", err
	}
	m.query.Reduce(m.stays)
	for i := len(m.settings) - 1; i >= 0; i-- {
		all := m.settings
		m.settings = append(append([]string{}, all[:i]...), all[i+1:]...)
		if !m.stays() {
			m.settings = all
		}
	}
	script := ""
	for _, t := range g.Tables {
		if !strings.Contains(m.query.String(), t.Name+" ") && !strings.Contains(m.query.String(), t.Name+")") {
			continue
		}
		if err := m.table(t); err != nil {
			return "", err
		}
		s, err := m.script(t.Name)
		if err != nil {
			return "", err
		}
		script += s
	}
	m.query.Reduce(m.stays)
	if len(m.settings) > 0 {
		script += "set " + strings.Join(m.settings, "; set ") + ";\n"
	}
	if m.w.kept {
		return script + "vacuum;\nset gpujoin.keep = always;\n" + m.query.String() + ";\n-- again, over kept columns\n" + m.query.String() + ";", nil
	}
	return script + m.query.String() + ";", nil
}

// stays reports whether the query still shows a difference.
func (m *minimisation) stays() bool {
	if time.Now().After(m.until) {
		return false
	}
	c, err := m.w.Compare(m.ctx, m.settings, m.query.String())
	return err == nil && c.Difference != ""
}

// table copies a table to the schema small and drops columns and rows.
func (m *minimisation) table(t Table) error {
	columns := []string{"id"}
	for i := range t.Columns {
		columns = append(columns, fmt.Sprintf("c%d", i))
	}
	where := "true"
	copy := func() error {
		sql := fmt.Sprintf("drop table if exists small.%s; create table small.%s as select %s from gen.%s where %s order by id; analyze small.%s",
			t.Name, t.Name, strings.Join(columns, ", "), t.Name, where, t.Name)
		err := m.w.s.Exec(m.ctx, "set max_parallel_workers_per_gather = 0;"+sql)
		if err == nil && m.w.kept {
			err = m.w.s.Exec(m.ctx, "vacuum small."+t.Name)
		}
		return err
	}
	// attempt copies, and reports whether the difference stays.
	attempt := func() bool { return copy() == nil && m.stays() }
	if !attempt() {
		// The key or the partitions matter: the table stays as it is.
		return m.w.s.Exec(m.ctx, "drop table if exists small."+t.Name)
	}
	for step := (len(columns) + 1) / 2; step > 0; step /= 2 {
		for i := len(columns) - step; i >= 0; i -= step {
			all := columns
			columns = append(append([]string{}, all[:i]...), all[i+step:]...)
			if !attempt() {
				columns = all
			}
		}
	}
	for step := (t.Rows + 1) / 2; step > 0; step /= 2 {
		for low := 0; low < t.Rows; low += step {
			all := where
			where += fmt.Sprintf(" and id not between %d and %d", low, low+step-1)
			if time.Now().After(m.until) || !attempt() {
				where = all
			}
		}
	}
	return copy()
}

// maxScriptRows bounds the rows that a script inserts.
const maxScriptRows = 40

// script returns statements that create a table of the schema small.
func (m *minimisation) script(name string) (string, error) {
	r, err := m.w.s.Query(m.ctx, fmt.Sprintf(`select attname || ' ' || format_type(atttypid, atttypmod) from pg_attribute
		where attrelid = to_regclass('small.%s') and attnum > 0 order by attnum`, name))
	if err != nil || len(r.Rows) == 0 {
		return "-- table " + name + " as generated\n", err
	}
	script := fmt.Sprintf("create table %s (%s);\n", name, strings.Join(r.Rows, ", "))
	rows, err := m.w.s.Query(m.ctx, fmt.Sprintf("select t::text from small.%s t limit %d", name, maxScriptRows+1))
	if err != nil {
		return "", err
	}
	if len(rows.Rows) > maxScriptRows {
		return script + "-- more rows than are shown\n", nil
	}
	for _, row := range rows.Rows {
		script += fmt.Sprintf("insert into %s select (%s::%s).*;\n", name, quote(row), name)
	}
	return script, nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
