// Package mirror holds copies of the tables of one other PostgreSQL server, as columns, and keeps
// them current by the changes that logical replication delivers.
//
// All tables have one position in the server's order of commits. A transaction's changes are
// applied as they arrive, and published together when its commit arrives: commits are numbered,
// a reader pins a number, and sees a row if it was inserted by a commit up to that number and
// not deleted by one.
//
//   - Rows lie in segments of up to 2^16 rows. The last segment of a table, its tail, grows in
//     place: what has been published is never written again, and readers get slices that end
//     where their pin's rows end. A tail that needs more memory moves to twice as much; readers
//     keep the memory that they read. A full tail is sealed: moved to memory of its exact size.
//   - A segment knows which rows of it have been inserted by which commits only as far back as
//     pins reach: as pairs of commit and row count, most segments have one.
//   - A deletion is an entry (commit, row) of its segment; when no pin is older, it becomes a bit.
//   - Forms of a column that joins compare are made of its values when a reader wants them, and
//     stay with the segment.
//   - An update is a deletion and an insertion. Values that it has not sent are those of the
//     old version.
//   - An index finds rows by their keys, as the writer sees them. Readers do not use it.
//   - Segments of which more than 30 % of the rows are deleted are rewritten together, beside
//     their readers, and swapped.
//
// What a change costs: a search in the index, which misses the cache once for the slot and
// once for the row's key, and copies of its values to the ends of the columns.
//
// The package knows no network. One goroutine delivers the stream; loading tables have others;
// readers use pins from any goroutine and are never blocked for longer than a publication.
package mirror

import (
	"errors"

	"gpujoin/joincore"
	"gpujoin/sidecar/kept"
	"gpujoin/sidecar/mirror/encode"
	"gpujoin/sidecar/mirror/pgout"
)

// LSN is a position in the source's WAL.
type LSN = pgout.LSN

// Memory is where a server's tables get their memory, as the kept columns do.
type Memory = kept.Memory

// Values are the values of a column in a batch of a loading table, as encode.Batch has them.
type Values = joincore.Vector

// Column is a column of a mirrored table. An attribute may have several, in different forms.
type Column struct {
	Name        string
	Attnum      int16
	Type        uint32 // of a domain, the type below it
	Typmod      int32  // of its values
	Collation   uint32
	NotNull     bool // the source promises it; a NULL is a fault then
	Form, Scale int
	Physical    joincore.Column
}

// Table is a table of the source.
type Table struct {
	Schema, Name string
	OID          uint32 // on the source
	Columns      []Column
	Key          []int // positions in Columns of the replica identity's columns, in the form Value
}

// Options are the limits of a server's mirrors.
type Options struct {
	Limit int64 // bytes of extents, indexes and the rest together; 0: no limit
	// Gone is told contents (joincore.Vector) that no later relation has. It is called with locks
	// held, and may not call back. nil: nobody is told.
	Gone func(content uint64)
	// Held returns the bytes of all servers that share the limit. It is called from any
	// goroutine, under locks; nil: the server has the limit for itself.
	Held func() int64
}

// Op is a kind of change.
type Op uint8

// Kinds of changes.
const (
	Insert Op = iota
	Update
	Delete
	Truncate
)

// Change is a change of a table.
type Change struct {
	Table uint32 // OID
	Op    Op
	New   encode.Row // of Insert and Update: one field for each column
	Key   encode.Row // of Delete, and of an Update that changes the key: one field for each of Table.Key. Without fields: the key of New
}

// State says what can be done with a table's mirror.
type State uint8

// States.
const (
	StateLoading State = iota // it has no position yet
	StateJoining              // loaded up to a position that the main stream has not reached
	StateReady
	StateFailed
)

// Errors.
var (
	// ErrInconsistent means that a change contradicts the mirror: the table has to load again.
	ErrInconsistent = errors.New("a change contradicts the mirror")
	// ErrMemory means that the memory for mirrors is used up.
	ErrMemory = errors.New("mirrors have no more memory")
	// ErrTooLong means that a value, or a table, exceeds what a mirror can hold.
	ErrTooLong = errors.New("too long for a mirror")
	// ErrNotReady means that a table has no mirror at the position of the pin.
	ErrNotReady = errors.New("the table is not mirrored at this position")
	// ErrLate means that a table would join the main stream at a position that this has passed.
	ErrLate = errors.New("the main stream has passed this position")
	// ErrOrder means that calls came in an order that no stream has.
	ErrOrder = errors.New("the stream is out of order")
)
