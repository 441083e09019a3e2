// Package synthetic fills tables whose joins are measured: dimensions with
// keys that are any int8, and facts that hold the keys of random rows of them.
// The same names and sizes give the same rows in every run.
package synthetic

import (
	"context"
	"fmt"
	"strings"

	"gpujoin/tests/harness"
)

// Number is an expression: a random number below a bound, for row i.
func Number(seed, below int) string {
	return fmt.Sprintf("(hashint8extended(i, %d) & 9223372036854775807) %% %d", seed, below)
}

// key is the key of a dimension's row with a number.
const key = "hashint8extended(%s, 4711)"

// Foreign is an expression: the key of a random row of a dimension with so
// many rows.
func Foreign(seed, rows int) string { return fmt.Sprintf(key, Number(seed, rows)) }

// Table is filled from expressions over i, the number of a row.
type Table struct {
	Name     string
	Columns  []string // names; all are int8 not null
	Values   []string // expressions
	Rows     int
	Shuffled bool // rows lie in no order that a join could profit from
}

// Dimension has the columns k, its key, and v, a number below 1000.
func Dimension(name string, seed, rows int) Table {
	return Table{
		Name: name, Rows: rows, Shuffled: true,
		Columns: []string{"k", "v"}, Values: []string{fmt.Sprintf(key, "i - 1"), Number(seed, 1000)},
	}
}

// Fill makes the table and fills it in one transaction, so that with
// wal_level = minimal no WAL is written.
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
