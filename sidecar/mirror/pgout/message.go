// Package pgout decodes the messages of pgoutput, PostgreSQL's logical decoding plugin, in
// version 1 of its protocol: "Logical Replication Message Formats" of PostgreSQL's manual, and
// src/backend/replication/logical/proto.c.
//
// pglogrepl has such a decoder too. This one allocates nothing per message, checks every count
// and length before it is used, and refuses bytes behind a message; the stream of a busy server
// has some hundred thousand messages a second, from a peer that need not be trusted.
package pgout

import "time"

// LSN is a position in the source's WAL, in bytes.
type LSN uint64

// Message is one of *Begin, *Commit, *Origin, *Relation, *Type, *Insert, *Update, *Delete,
// *Truncate and *Logical. All of it, the slices included, is valid until the next call of
// Decode, and only as long as the decoded bytes do not change: names and values are parts of
// them, clipped to their length.
type Message interface{ message() }

// Begin begins a transaction. All messages up to its Commit belong to it.
type Begin struct {
	Final LSN   // of the commit's record
	Time  int64 // of the commit: microseconds since 2000, see Time
	XID   uint32
}

// Commit ends a transaction.
type Commit struct {
	Commit LSN // of the commit's record
	End    LSN // the end of that record: the position behind the transaction
	Time   int64
}

// Origin says that another server was the first to execute the transaction.
type Origin struct {
	Commit LSN // on that server
	Name   []byte
}

// Relation describes a table, before the first change of it and again after it has changed.
type Relation struct {
	ID        uint32 // OID of the table
	Namespace []byte // empty: pg_catalog
	Name      []byte
	Identity  byte // pg_class.relreplident: 'd' default, 'n' nothing, 'f' full, 'i' index
	Columns   []Column
}

// Column is a published column of a table. Generated columns are not published.
type Column struct {
	Key    bool // part of the replica identity
	Name   []byte
	Type   uint32
	Typmod int32
}

// Type names a type that is not built in.
type Type struct {
	ID              uint32
	Namespace, Name []byte
}

// Insert adds a row.
type Insert struct {
	Relation uint32
	New      Tuple
}

// Update replaces a row.
type Update struct {
	Relation uint32
	Identity byte // what Old has: 'K' the key's columns, the others NULL; 'O' all columns; 0: nothing, the key is that of New
	Old, New Tuple
}

// Delete removes a row.
type Delete struct {
	Relation uint32
	Identity byte // 'K' or 'O', as in Update
	Old      Tuple
}

// Truncate empties tables.
type Truncate struct {
	Cascade, RestartIdentity bool
	Relations                []uint32
}

// Logical is a message of pg_logical_emit_message.
type Logical struct {
	Transactional bool
	LSN           LSN
	Prefix        []byte
	Content       []byte
}

// Tuple is the values of a row, one for each column of its Relation.
type Tuple []Value

// Kind says what is sent of a value.
type Kind byte

// Kinds of values.
const (
	Null      Kind = 'n'
	Unchanged Kind = 'u' // of an update: a value out of line that the update has not changed
	Text      Kind = 't' // the type's output, also if binary was asked for and it has no send function
	Binary    Kind = 'b' // the type's send format
)

// Value is a value of a row.
type Value struct {
	Kind Kind
	Data []byte // of Text and Binary
}

func (*Begin) message()    {}
func (*Commit) message()   {}
func (*Origin) message()   {}
func (*Relation) message() {}
func (*Type) message()     {}
func (*Insert) message()   {}
func (*Update) message()   {}
func (*Delete) message()   {}
func (*Truncate) message() {}
func (*Logical) message()  {}

// Time returns the time of a number of microseconds since 2000, as PostgreSQL counts it. It is
// exact for every number.
func Time(microseconds int64) time.Time {
	const epoch = 946684800 // 2000-01-01 in seconds since 1970
	seconds, rest := microseconds/1e6, microseconds%1e6
	return time.Unix(epoch+seconds, rest*1000).UTC()
}
