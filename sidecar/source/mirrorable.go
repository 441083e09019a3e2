package source

import (
	"errors"
	"slices"
)

// direct is an Error of a table that is read directly. It is a reason that EXPLAIN shows,
// with what would make the table mirrorable.
func direct(message, hint string) *Error {
	return &Error{SQLState: "0A000", Message: message, Hint: hint, ofTable: true}
}

// OfTable returns an error of a table's mirror as one that names the table, where it does not.
func OfTable(name Name, err error) error {
	var e *Error
	if !errors.As(err, &e) || !e.ofTable {
		return err
	}
	return (&Error{SQLState: e.SQLState, Message: "table " + name.String() + " cannot be mirrored", Detail: e.Message, Hint: e.Hint}).from(err)
}

// ofRelation returns why a relation cannot be mirrored, whatever its columns are.
func ofRelation(t *Table, kind, persistence, replident string, children, selects, secured bool) *Error {
	kinds := map[string]string{"p": "a partitioned table", "v": "a view", "m": "a materialized view", "f": "a foreign table"}
	switch {
	case !selects:
		return errSelect.because("%s", t.Name).advising("GRANT SELECT ON %s TO the role at the source", t.Name)
	case secured:
		return errRLS.because("%s", t.Name)
	case kinds[kind] != "":
		hint := "import its base tables instead"
		if kind == "p" {
			hint = "import its partitions instead"
		}
		return direct("it is "+kinds[kind], hint)
	case persistence != "p":
		return direct("it is unlogged or temporary, and is not replicated", "ALTER TABLE … SET LOGGED")
	case children:
		return direct("other tables inherit from it", "import these tables instead")
	case replident == "n":
		return direct("its replica identity is NOTHING", "ALTER TABLE … REPLICA IDENTITY DEFAULT")
	case replident == "f":
		return direct("its replica identity is FULL, which names no key", "ALTER TABLE … REPLICA IDENTITY DEFAULT, or USING INDEX")
	}
	return nil
}

// publish sets the published columns and the key, and finds why columns prevent a mirror.
func (t *Table) publish(key []int16) {
	place := map[int16]int{}
	for i, c := range t.Columns {
		if c.Dropped || c.Generated {
			continue
		}
		place[c.Attnum] = len(t.Published)
		t.Published = append(t.Published, i)
	}
	for _, attnum := range key {
		if at, ok := place[attnum]; ok {
			t.Key = append(t.Key, at)
		}
	}
	if t.Direct != nil {
		return
	}
	sendless := slices.IndexFunc(t.Columns, func(c Column) bool { return !c.Dropped && !c.Generated && !c.Binary })
	switch {
	case len(key) == 0:
		t.Direct = direct("it has no primary key or index as its replica identity", "ALTER TABLE … ADD PRIMARY KEY, or REPLICA IDENTITY USING INDEX")
	case len(t.Key) < len(key):
		t.Direct = direct("its key has a generated column", "ALTER TABLE … REPLICA IDENTITY USING INDEX with other columns")
	case sendless >= 0:
		t.Direct = direct("column "+t.Columns[sendless].Name+" has a type without a send function", "use another type")
	}
}

// column returns the published column at a place of Published.
func (t *Table) column(place int) *Column { return &t.Columns[t.Published[place]] }
