// Package device is the interface between join algorithms and what executes
// them. It is cut where a device can be fast: whole columns, tables and chunks
// of rows are opaque handles, work is asked for in chunks on streams, and a
// number that only the device knows is a Count that has to be awaited.
//
// Vocabulary. A Space is a set of rows that lies on the device: a base input,
// materialised Tuples, or Partitions. A row of a space has a position. Rows
// is a chunk of result rows in the making: for each space that contributes,
// the positions of its rows. Columns are not touched before somebody needs
// them: keys by Probe, operands by Filter, output by Gather.
//
// Life cycle. A Provider lives as long as the process. Device belongs to one
// execution of a plan; Close frees whatever is left, after every stream has
// been closed. A Stream belongs to one goroutine; what it returns is valid
// until the same producer is used again.
package device

import (
	"context"

	"gpujoin/joincore"
)

// Provider executes on one kind of device.
type Provider interface {
	Name() string
	// Open starts an execution whose column-sized memory comes from mem.
	Open(mem joincore.Memory, opt Options) (Device, error)
}

// Options are for tests and benchmarks; zero values leave the choice to the
// provider.
type Options struct {
	Streams   int    // how many streams to offer
	ChunkRows int    // how many rows Rows has at most
	Seed      uint64 // of the hash function
	// Collide makes keys that are hashes collide, so that a test sees whether
	// their values are compared.
	Collide bool
}

// Device is a provider opened for one execution.
type Device interface {
	// Streams says how many streams keep the device busy.
	Streams() int
	// ChunkRows says how many rows a Rows has at most.
	ChunkRows() int
	// Import makes a base input readable by the device. Its memory must stay
	// as it is until Close. ErrInvalid when a vector is too short for its rows.
	Import(input int, r *joincore.Relation) (Space, error)
	// NewTuples makes an empty space that Stream.Append fills with the row
	// numbers of inputs and, where key is set, that key's normalised values.
	NewTuples(inputs []int, key *Key) (Tuples, error)
	// KeyRange returns the range of a space's keys, no rows where they are not
	// exact. It is a pass over the keys, of which the result is kept.
	KeyRange(ctx context.Context, s Space, key *Key) (KeyRange, error)
	// Partition reorders a space by the radix of its hashed key, stably.
	Partition(ctx context.Context, from Space, spec PartitionSpec) (Partitions, error)
	// Build makes one hash table of all rows of a space. Rows with a NULL in
	// their key are not in it.
	Build(ctx context.Context, from Space, m *Match) (Table, error)
	// NewStream returns a stream of work that is done in order.
	NewStream() (Stream, error)
	Close()
}

// Space is a set of rows on the device, in segments that are scanned apart.
type Space interface {
	// Segments returns the rows of each segment.
	Segments() []int
	// Release frees the space's memory. Nothing that reads it may be used after.
	Release()
}

// Tuples is a space of row numbers, growing while streams append to it.
type Tuples interface{ Space }

// Partitions is a space of one segment whose rows are ordered by partition.
type Partitions interface {
	Space
	// Bounds waits for the first position of each partition, and the number
	// of all rows at the end: partitions + 1 numbers. The last partition holds
	// the rows whose key is NULL and is empty unless the spec keeps them.
	Bounds(ctx context.Context) ([]int64, error)
}

// PartitionSpec says how to partition a space.
type PartitionSpec struct {
	Key  *Key
	Bits int // radix bits: 2^Bits partitions, and one for NULL keys
	// Carry are the columns that are moved with the key (gather from
	// transformed relations); others are reached by row number.
	Carry []joincore.ColumnRef
	// RowIDs are the inputs whose row numbers are moved with the key.
	RowIDs    []int
	KeepNulls bool // keep rows whose key is NULL
}

// Table is a hash table over the rows of a space.
type Table interface {
	Release()
}

// Stream is a queue of work on the device, used by one goroutine.
type Stream interface {
	// Scan returns rows [first, first+n) of a segment, n <= ChunkRows.
	Scan(s Space, segment, first, n int) Rows
	// NewFilter prepares a condition over rows.
	NewFilter(e joincore.Expr, parameters []joincore.Parameter) Filter
	// NewProber prepares probing with one join's condition.
	NewProber(m *Match) Prober
	// BuildPartition makes a table of one partition, valid until the next
	// call. Its bounds are those that Partitions.Bounds returned.
	BuildPartition(p Partitions, partition int, m *Match) (Table, error)
	// Marked returns those of rows [first, first+n) of a segment of a space
	// that have found a partner by a Match with Mark (or have not).
	Marked(s Space, segment, first, n int, found bool) (Rows, Count)
	// Append copies the positions of rows into t, whose rows are there after
	// Sync.
	Append(r Rows, t Tuples) error
	// Gather writes rows from the given one on into dst, from row at on, and
	// counts those that it wrote: fewer than asked for when dst is full. heap
	// holds the bytes used by each column of dst, and is updated. dst and heap
	// belong to the device until the count has been awaited.
	Gather(r Rows, from int, columns []joincore.ColumnRef, dst *joincore.Batch, at int, heap []int) Count
	// Measure writes the heap bytes that one row needs in each column; heap
	// belongs to the device until the count (of columns) has been awaited.
	Measure(r Rows, row int, columns []joincore.ColumnRef, heap []int) Count
	// Sync waits for everything that was asked for and returns its error.
	Sync(ctx context.Context) error
	Close()
}

// Rows is a chunk of rows: positions in the spaces that contribute to it. An
// input that no space of the chunk covers reads as NULL.
type Rows interface{}

// Filter passes the rows for which its condition is true.
type Filter interface {
	Apply(r Rows) (Rows, Count, error)
}

// Prober finds partners of rows in a table.
type Prober interface {
	// Start begins with the rows of a chunk, which must stay valid until Next
	// has counted nothing.
	Start(r Rows, t Table) error
	// Next returns the next result rows; a count of 0 ends the chunk.
	Next() (Rows, Count, error)
}
