package foreign

import "gpujoin/joincore"

// Read says what a job reads of a table.
type Read struct {
	Schema, Table string
	Columns       []Column
	// Extent returns memory of the job, of ExtentSize bytes: for the rows of a table that is read
	// directly, and for copies for which mirrors have no memory.
	Extent     func() ([]byte, error)
	ExtentSize int
	Sample     *Sample // nil: all rows
	// Condition is what the job evaluates on the rows, which it does itself: rows for which it is not true
	// may be left out. Column i of any input is Columns[i]. nil: none.
	Condition  joincore.Expr
	Parameters []joincore.Parameter // that Condition reads
}

// Column is a column that a job reads, in one form.
type Column struct {
	Name     string // at the source
	Type     uint32 // of a domain: of the type below it
	Typmod   int32
	Text     bool // the value is wanted as text
	Form     int  // encode.Form
	Scale    int  // of a form of numerics
	Physical joincore.Column
}

// Sample is a number of rows that are chosen at random.
type Sample struct {
	Rows int64
	Seed uint64
}
