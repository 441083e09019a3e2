// Package synthetic fills tables for measurements of joins: dimensions whose
// keys are any int8, and facts with the keys of random rows of these. Equal
// names and sizes give equal rows in every run.
package synthetic

import (
	"context"
	"fmt"
	"strings"

	"gpujoin/tests/harness"
)

// Number returns an SQL expression: a random number below a bound, for row i.
func Number(seed, below int) string {
	return fmt.Sprintf("(hashint8extended(i, %d) & 9223372036854775807) %% %d", seed, below)
}

// key is the SQL expression for the key of the dimension's row of a number.
const key = "hashint8extended(%s, 4711)"

// Foreign returns an SQL expression: the key of a random row of a dimension
// with the given rows.
func Foreign(seed, rows int) string { return fmt.Sprintf(key, Number(seed, rows)) }

// Table is a table to fill from expressions over i, the row number.
type Table struct {
	Name     string
	Columns  []string // names; all are int8 not null
	Values   []string // expressions
	Rows     int
	Shuffled bool // the rows are in random order
}

// Dimension returns a table with the columns k, the key, and v, a number below 1000.
func Dimension(name string, seed, rows int) Table {
	return Table{
		Name: name, Rows: rows, Shuffled: true,
		Columns: []string{"k", "v"}, Values: []string{fmt.Sprintf(key, "i - 1"), Number(seed, 1000)},
	}
}

// Fill creates and fills the table in one transaction, so that no WAL is
// written if wal_level = minimal.
func (t Table) Fill(ctx context.Context, s *harness.Session) error {
	order := ""
	if t.Shuffled {
		order = " order by hashint8extended(i, 99)"
	}
	err := s.Exec(ctx, fmt.Sprintf(
		"set work_mem = '1GB'; begin; create table %s (%s int8 not null); insert into %s select %s from generate_series(1::int8, %d) i%s; commit; reset work_mem",
		t.Name, strings.Join(t.Columns, " int8 not null, "), t.Name, strings.Join(t.Values, ", "), t.Rows, order))
	if err != nil {
		return fmt.Errorf("filling %s: %w", t.Name, err)
	}
	return nil
}
