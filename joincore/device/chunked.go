package device

import (
	"context"

	"gpujoin/joincore"
)

// ChunkRows is the default number of rows per chunk: its vectors (keys, positions,
// matches) fit a level 2 cache, and the cost of the calls around it is amortised.
const ChunkRows = 4096

// Chunked is a device with primitives over chunks of rows.
//
// Partition, Sort and Build may be asynchronous: they may return before their work is
// done. Bounds and Keyed await it and return its error; probing awaits a table. The
// segments of a partitioned or sorted space may be read only after that.
type Chunked interface {
	Device
	// NewTuples returns an empty space to which ChunkStream.Append adds row ids of
	// inputs and, if key is not nil, that key's normalised values.
	NewTuples(inputs []int, key *Key) (Tuples, error)
	// KeyRange returns the range of a space's keys; it has no rows if keys are not
	// exact. It reads all keys, once per space.
	KeyRange(ctx context.Context, s Space, key *Key) (KeyRange, error)
	// Partition reorders a space by the radix of its hashed key, stably.
	Partition(ctx context.Context, from Space, spec TransformSpec) (Partitions, error)
	// Sort orders a space by its normalised key, stably. Both sides of a join have the
	// same order.
	Sort(ctx context.Context, from Space, spec TransformSpec) (Sorted, error)
	// MergePath divides the merge of two sorted spaces into parts of equal work: parts
	// + 1 points, from before all rows to behind the last row whose key is not NULL.
	// A probe row's partners may lie behind the point at which the next part begins.
	MergePath(ctx context.Context, build, probe Sorted, parts int) ([]MergePoint, error)
	// Build makes one hash table of the rows of a space whose key is not NULL.
	Build(ctx context.Context, from Space, m *Match) (Table, error)
	// Aggregate begins to group rows.
	Aggregate(spec *AggregateSpec) (Aggregation, error)
	// NewChunkStream returns a stream that works on chunks.
	NewChunkStream() (ChunkStream, error)
}

// Tuples is a space of row ids, growing while streams append to it.
type Tuples interface{ Space }

// Partitions is a space of one segment whose rows are ordered by partition.
type Partitions interface {
	Space
	// Bounds returns the first position of each partition and, at the end, the number
	// of rows: partitions + 1 numbers. The last partition holds the rows whose key is
	// NULL; it is empty unless the spec keeps them.
	Bounds() Future[[]int64]
}

// TransformSpec says how to partition or to sort a space.
type TransformSpec struct {
	Key  *Key
	Bits int // of a partitioning: 2^Bits partitions, and one more for NULL keys
	// Carry are the columns that move with the key (gather from transformed
	// relations); others are gathered by row id.
	Carry []joincore.ColumnRef
	// RowIDs are the inputs whose row ids move with the key.
	RowIDs    []int
	KeepNulls bool // keep rows whose key is NULL
}

// Sorted is a space of one segment in the order of its keys.
type Sorted interface {
	Space
	// Keyed returns the number of rows whose key is not NULL. The others follow them,
	// if the spec keeps them.
	Keyed() Count
}

// MergePoint is a point on the merge path of two sorted spaces: rows of each side.
type MergePoint struct{ Build, Probe int64 }

// Table holds the rows of a space so that a Prober finds them by key.
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
	// BuildPartition makes a table of one partition, valid until the next call.
	// Partitions.Bounds must have been awaited. It ends early when ctx is done,
	// because one partition may hold all rows.
	BuildPartition(ctx context.Context, p Partitions, partition int, m *Match) (Table, error)
	// MergeMatch makes a table of a merge join's build side, valid until the next
	// call. A Prober then takes the rows of the probe side, sorted likewise, in order
	// and without NULL keys, from a MergePoint whose Build is from.
	MergeMatch(build Sorted, from int64, m *Match) (Table, error)
	// Marked returns those of the rows [first, first+n) of a segment that have found a
	// partner by a Match with Mark (found), or have not, after the device's previous
	// steps.
	Marked(s Space, segment, first, n int, found bool) (Rows, Count)
	// Append copies the positions of rows into t, which contains them after Sync.
	Append(r Rows, t Tuples) error
	// Group adds rows to the groups of a, which are complete after Sync.
	Group(ctx context.Context, r Rows, a Aggregation) error
}

// Filter passes the rows for which its condition is true.
type Filter interface {
	Apply(r Rows) (Rows, Count, error)
}

// Prober finds the partners of rows in a table. A row may have any number of partners
// and a condition may reject all of them, so both methods check ctx after a bounded
// number of rows or pairs and return its cause once it is done.
type Prober interface {
	// Start begins a chunk of rows, which must stay valid until Next has returned a
	// count of 0.
	Start(ctx context.Context, r Rows, t Table) error
	// Next returns the next result rows; a count of 0 ends the chunk.
	Next(ctx context.Context) (Rows, Count, error)
}

// AggregateSpec says how to group rows.
type AggregateSpec struct {
	ID         int // of the derived input
	Keys       []joincore.Value
	Carry      []joincore.ColumnRef // reached by row number
	Functions  []joincore.Function
	Parameters []joincore.Parameter
	// Columns are those of the derived input.
	Columns []joincore.Column
	// Schema describes all inputs of the plan. Numbers from its length on are
	// free for the device's own use.
	Schema joincore.Schema
	// Groups is the planner's estimate of their number; 0: unknown.
	Groups int64
}

// Aggregation groups the rows that streams add to it by ChunkStream.Group.
type Aggregation interface {
	// Space ends the grouping, merges what the streams have, and returns a row
	// for each group: the derived input. It is called once, after Sync of all
	// streams that have added rows. ErrArithmetic where a function's result is
	// out of range.
	Space(ctx context.Context) (Space, error)
	// Report says what was done so far.
	Report() joincore.AggregateStats
	// Release frees what the aggregation holds. The space stays.
	Release()
}

// Turns shares the machine's cores among executions: a goroutine of an execution
// works only while it holds a turn, from Enter to Leave. It gives the turn up before
// it waits for anything but the CPU, such as another goroutine of its execution or a
// sink.
//
// A goroutine whose ctx is done gets a turn at once, because it only has to clean up.
// All methods are safe for concurrent use.
type Turns interface {
	// Enter waits for a turn.
	Enter(ctx context.Context)
	// Yield, called by a goroutine that holds a turn about every 100 µs of work, passes
	// the turn to waiting goroutines with precedence and waits for a new one. Without
	// such goroutines it costs next to nothing.
	Yield(ctx context.Context)
	// Leave gives up the turn.
	Leave()
}

// Unlimited gives every goroutine a turn at once.
type Unlimited struct{}

func (Unlimited) Enter(context.Context) {}
func (Unlimited) Yield(context.Context) {}
func (Unlimited) Leave()                {}

// Turn returns o's Turns, or Unlimited.
func (o *Options) Turn() Turns {
	if o.Turns == nil {
		return Unlimited{}
	}
	return o.Turns
}
