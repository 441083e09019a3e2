// Package source connects to another PostgreSQL server and keeps mirrors of its
// tables current: it copies each table once under a snapshot, and then applies what
// the server's logical replication sends.
//
// A Session belongs to one server and one remote role. It has a pool of connections
// for questions and copies, one connection that streams changes, and one slot. A
// Target keeps the rows; it sees the source's transactions whole and in the order in
// which they were committed.
//
// What the source must be and permit is listed in refusals.go, one error each.
package source

import (
	"time"

	"gpujoin/sidecar/mirror/encode"
	"gpujoin/sidecar/mirror/pgout"
)

// LSN is a position in the source's write-ahead log, in bytes.
type LSN = pgout.LSN

// Name is the name of a table.
type Name struct{ Schema, Table string }

// String returns the name as SQL writes it.
func (n Name) String() string { return quoteIdentifier(n.Schema) + "." + quoteIdentifier(n.Table) }

// Kind is what a Change does.
type Kind uint8

// The kinds of changes.
const (
	Insert Kind = iota + 1
	Update
	Delete
	Truncate
)

// Values are the values of one row in the source's binary send format, one for each of
// Table.Published. They alias a buffer that its owner reuses when the call returns.
type Values = pgout.Tuple

// Change is one change of the open transaction.
type Change struct {
	Kind  Kind
	Table *Table
	New   Values // Insert, Update
	// Key has the old row's values at the places of Table.Key, for Delete and for Update
	// if the source sent them; nil: the key is that of New.
	Key Values
}

// Batch is a number of rows of one table, as a copy delivers them: value c of row r is
// Data[Offsets[r*columns+c] : +Lengths[r*columns+c]]; a length of -1 is NULL.
type Batch struct {
	Rows    int
	Columns int
	Data    []byte
	Offsets []uint32
	Lengths []int32

	tuple   Values // that Row returns
	encoded *encode.Batch
	encodes *Table // whose columns encoded has
}

// Target keeps the rows of a session's tables. Change, Commit and Received are called by
// one goroutine, in the order of the source's commits.
type Target interface {
	// Begin is called when a table begins to load. An error means that the table cannot be
	// mirrored, and says why.
	Begin(t *Table) (Loading, error)
	// Change is a change of the open transaction, of a table that has joined. An error fails
	// the table only.
	Change(c *Change) error
	// Commit ends the open transaction; end is the position after it, at the time of the
	// commit by the source's clock.
	Commit(end LSN, at time.Time) error
	// Received says that everything committed before walEnd has been delivered. It takes the
	// place of Commit for a transaction without a Change.
	Received(walEnd LSN)
	// Abort forgets the changes of the open transaction: the source sends it again.
	Abort()
	// Fail ends a table's mirror: its rows are no longer those of the source.
	Fail(t *Table, reason error)
	// Reset ends all mirrors: the stream begins anew at an unrelated position.
	Reset(reason error)
}

// Loading is a table that loads. Batch is called by any number of goroutines; the other
// methods when no Batch runs.
type Loading interface {
	Batch(b *Batch) error
	// Change is a change of the synchronisation stream, whose transactions are whole when the
	// table joins.
	Change(c *Change) error
	// Join ends the load: the table has the rows of position at, which is the main stream's,
	// and gets its changes from there.
	Join(at LSN) error
	// Abandon ends the load without a result. Called at most once, and not after Join.
	Abandon(reason error)
}
