package device

import (
	"context"

	"gpujoin/joincore"
)

// ChunkRows is how many rows a chunk has where Options leave it open: its
// vectors (keys, positions, matches) stay within a level 2 cache, and the calls
// around them are amortised.
const ChunkRows = 4096

// Chunked is a device with primitives over chunks of rows.
//
// Partition, Sort and Build are asynchronous where the device likes: they may
// return before their work is done. It is awaited by Bounds, and by Keyed,
// whose error is that of the work; a table is awaited by who probes it. The
// segments of a partitioned or sorted space may be asked for only after that.
type Chunked interface {
	Device
	// NewTuples makes an empty space that ChunkStream.Append fills with the
	// row numbers of inputs and, where key is set, that key's normalised
	// values.
	NewTuples(inputs []int, key *Key) (Tuples, error)
	// KeyRange returns the range of a space's keys, no rows where they are not
	// exact. It is a pass over the keys, of which the result is kept.
	KeyRange(ctx context.Context, s Space, key *Key) (KeyRange, error)
	// Partition reorders a space by the radix of its hashed key, stably.
	Partition(ctx context.Context, from Space, spec PartitionSpec) (Partitions, error)
	// Sort orders a space by its normalised key, stably. Equal keys are
	// adjacent, and both sides of a join are ordered alike.
	Sort(ctx context.Context, from Space, spec SortSpec) (Sorted, error)
	// MergePath cuts the merge of two sorted spaces into parts of equal work:
	// parts + 1 points, the first before all rows and the last behind those
	// that have a key. A probe row's partners may lie behind the point at
	// which the next part begins.
	MergePath(ctx context.Context, build, probe Sorted, parts int) ([]MergePoint, error)
	// Build makes one hash table of all rows of a space. Rows with a NULL in
	// their key are not in it.
	Build(ctx context.Context, from Space, m *Match) (Table, error)
	// NewChunkStream returns a stream that works on chunks.
	NewChunkStream() (ChunkStream, error)
}

// Tuples is a space of row numbers, growing while streams append to it.
type Tuples interface{ Space }

// Partitions is a space of one segment whose rows are ordered by partition.
type Partitions interface {
	Space
	// Bounds is the first position of each partition, and the number of all
	// rows at the end: partitions + 1 numbers. The last partition holds the
	// rows whose key is NULL and is empty unless the spec keeps them.
	Bounds() Future[[]int64]
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

// Sorted is a space of one segment in the order of its keys.
type Sorted interface {
	Space
	// Keyed is how many rows have a key. Those whose key is NULL follow them,
	// where the spec keeps them.
	Keyed() Count
}

// SortSpec says how to sort a space. Its fields are those of a PartitionSpec.
type SortSpec struct {
	Key       *Key
	Carry     []joincore.ColumnRef
	RowIDs    []int
	KeepNulls bool
}

// MergePoint is a point on the path by which two sorted spaces are merged:
// rows of each side.
type MergePoint struct{ Build, Probe int64 }

// Table holds the rows of a space such that a Prober finds them by key.
type Table interface {
	Release()
}

// ChunkStream is a stream of a Chunked device.
type ChunkStream interface {
	Stream
	// NewFilter prepares a condition over rows.
	NewFilter(e joincore.Expr, parameters []joincore.Parameter) Filter
	// NewProber prepares probing with one join's condition.
	NewProber(m *Match) Prober
	// BuildPartition makes a table of one partition, valid until the next
	// call. Its bounds are those that Partitions.Bounds returned. It ends with
	// ctx, as a partition may hold all rows.
	BuildPartition(ctx context.Context, p Partitions, partition int, m *Match) (Table, error)
	// MergeMatch makes the build side of a merge join a table, valid until the
	// next call. A Prober then takes the rows of a probe side sorted alike, in
	// order and without NULL keys, from a MergePoint on whose build row is
	// from.
	MergeMatch(build Sorted, from int64, m *Match) (Table, error)
	// Marked returns those of rows [first, first+n) of a segment of a space
	// that have found a partner by a Match with Mark (or have not), as the
	// device's steps before it leave them.
	Marked(s Space, segment, first, n int, found bool) (Rows, Count)
	// Append copies the positions of rows into t, whose rows are there after
	// Sync.
	Append(r Rows, t Tuples) error
}

// Filter passes the rows for which its condition is true.
type Filter interface {
	Apply(r Rows) (Rows, Count, error)
}

// Prober finds partners of rows in a table. A row may have any number of them,
// and a condition may refuse them all: both methods look at ctx after a bounded
// number of rows or pairs, and return its cause once it is done.
type Prober interface {
	// Start begins with the rows of a chunk, which must stay valid until Next
	// has counted nothing.
	Start(ctx context.Context, r Rows, t Table) error
	// Next returns the next result rows; a count of 0 ends the chunk.
	Next(ctx context.Context) (Rows, Count, error)
}
