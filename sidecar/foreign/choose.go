package foreign

import (
	"fmt"
	"time"

	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/source"
)

// choice is how a table of a statement is read.
type choice struct {
	direct       bool
	reason, hint string // of direct
	rows         int64
	held         mirror.Held // of a mirror
}

func mirrored(choices []choice) bool {
	for i := range choices {
		if !choices[i].direct {
			return true
		}
	}
	return false
}

func answers(choices []choice) []tableAnswer {
	out := make([]tableAnswer, len(choices))
	for i, c := range choices {
		out[i] = tableAnswer{c.direct, c.reason, c.hint, c.rows}
	}
	return out
}

// choose decides how each table of a request is read: at a pin, whose tables are held then, or
// as things are now.
func (e *entry) choose(r *request, at *mirror.Pin) []choice {
	choices := make([]choice, len(r.Tables))
	first, direct := -1, map[source.Name]bool{}
	for i := range choices {
		if choices[i] = e.chooseTable(&r.Tables[i], at); choices[i].direct {
			direct[r.Tables[i].name()] = true
			if first < 0 {
				first = i
			}
		}
	}
	for i := range choices {
		// Several foreign tables may lead to one table, which is read in one way.
		if !choices[i].direct && first >= 0 && (!r.Mix || direct[r.Tables[i].name()]) {
			choices[i] = choice{direct: true, rows: choices[i].rows,
				reason: fmt.Sprintf("%s of the same statement is read directly", r.Tables[first].name()),
				hint:   "with the server's option mix, tables are read as of different moments"}
		}
	}
	return choices
}

func (e *entry) chooseTable(w *wanted, at *mirror.Pin) choice {
	c := choice{direct: true, rows: -1}
	if t := e.planned(w.name()); t != nil {
		c.rows = int64(t.Rows)
	}
	switch {
	case e.limit == 0:
		c.reason, c.hint = "gpujoind mirrors no tables", "set mirror-memory in its configuration"
		return c
	case !w.Mirror:
		c.reason = "its option mirror is off"
		return c
	}
	for _, column := range w.Columns {
		if column.Text {
			c.reason = fmt.Sprintf("column %s has a type that is not mirrored", column.Name)
			return c
		}
	}
	held, ready := mirror.Held{}, false
	if at != nil {
		var err error
		held, err = at.Hold(w.Schema, w.Table)
		ready = err == nil
	} else if t, state, rows := e.mirrors.Find(w.Schema, w.Table); t != nil {
		held, ready = mirror.Held{Table: t.OID, All: t.Columns, Rows: rows}, state == mirror.StateReady
	}
	if !ready {
		c.reason, c.hint = e.unready(w.name())
		return c
	}
	if c.reason, c.hint = e.unfit(w.name(), held.All, w.Columns); c.reason != "" {
		return c
	}
	c.direct, c.rows, c.held = false, held.Rows, held
	return c
}

// failure returns why the session, or the mirror of a table, fails now; nil: it does not.
func (e *entry) failure(name source.Name) error {
	status := e.session.Status()
	table := statusOf(&status, name)
	switch {
	case table == nil:
		return nil
	case table.State == source.StateFailed && table.Reason != nil:
		return table.Reason
	}
	return status.Reason
}

// statusOf returns the state of a table that is wanted; nil: it is not.
func statusOf(status *source.Status, name source.Name) *source.TableStatus {
	for i := range status.Tables {
		if status.Tables[i].Name == name {
			return &status.Tables[i]
		}
	}
	return nil
}

// unready returns why a table has no mirror that can be read.
func (e *entry) unready(name source.Name) (reason, hint string) {
	if why := e.failure(name); why != nil {
		return explained(why)
	}
	status := e.session.Status()
	table := statusOf(&status, name)
	if table == nil {
		return "it is not mirrored yet", "its first query begins the mirror, or gpujoin.mirror"
	}
	if wait := time.Until(table.Next); table.Reason != nil && wait > time.Second {
		reason, hint = explained(table.Reason)
		return fmt.Sprintf("%s; it loads again in %v", reason, wait.Round(time.Second)), hint
	}
	reason = "mirror is loading"
	if t := e.planned(name); t != nil && table.State == source.StateLoading {
		reason = fmt.Sprintf("mirror is loading (%d rows)", table.Rows)
		if t.Rows >= 0 {
			reason = fmt.Sprintf("mirror is loading (%d of %d rows)", table.Rows, max(int64(t.Rows), table.Rows))
		}
	}
	if table.Reason != nil {
		before, hint := explained(table.Reason)
		return reason + "; the last one ended: " + before, hint
	}
	return reason, ""
}

// unfit returns why a mirror does not have columns as they are wanted; "": it has.
func (e *entry) unfit(name source.Name, stored []mirror.Column, columns []wantedColumn) (reason, hint string) {
	for i := range columns {
		w := &columns[i]
		have := find(stored, w.Name)
		if have != nil {
			if fits(have, w) {
				continue
			}
			return fmt.Sprintf("column %s has another type at the source", w.Name), "ALTER FOREIGN TABLE … ALTER COLUMN … TYPE, as at the source"
		}
		if planned := e.planned(name); planned != nil {
			for _, c := range planned.Columns {
				switch {
				case c.Name == w.Name && c.Generated:
					return fmt.Sprintf("column %s is generated, and is not replicated", w.Name), ""
				case c.Name == w.Name && !c.Dropped:
					return fmt.Sprintf("column %s has the type %s, which is not mirrored", w.Name, c.TypeName), ""
				}
			}
		}
		return fmt.Sprintf("the mirror has no column %s", w.Name), "gpujoin.unmirror and gpujoin.mirror load the table anew"
	}
	return "", ""
}

// find returns the column of a mirror by its name, as it is stored.
func find(columns []mirror.Column, name string) *mirror.Column {
	for i := range columns {
		if columns[i].Name == name {
			return &columns[i]
		}
	}
	return nil
}

const (
	numericOID = 1700
	varcharOID = 1043
)

// fits reports whether the values of a mirror's column are those of a type. Of numeric, that
// decides the form, too.
func fits(have *mirror.Column, w *wantedColumn) bool {
	switch {
	case have.Type != w.Type:
		return false
	case have.Typmod == w.Typmod:
		return true
	case w.Type == numericOID:
		return false
	case w.Type == varcharOID && have.Typmod >= 0 && w.Typmod > have.Typmod:
		return true
	}
	return w.Typmod < 0
}
