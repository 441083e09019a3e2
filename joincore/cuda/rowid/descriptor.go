package rowid

// The descriptors of kernels/layout/general.h, field by field and in its order.

// ColumnDescriptor is gj_column.
type ColumnDescriptor struct {
	Values, Validity, Positions uint64
	Width, Probe                uint64
}

type programDescriptor struct {
	Code, Length         uint64
	Columns, ColumnCount uint64
	Constants            uint64
	Slots                uint64
	Failed               uint64
}

// PartDescriptor is gj_part: a part of a key.
type PartDescriptor struct {
	Column ColumnDescriptor
	Bits   uint64
}

type keysDescriptor struct {
	Count, Chosen, Parts, PartCount uint64
	Exact, Seed, Collide            uint64
	Out, OutRows, OutCapacity       uint64
}

type keyedDescriptor struct {
	Count, Key, Chosen, Origin  uint64
	First, FirstCapacity        uint64
	Final, FinalCapacity        uint64
	Counts, Start, Cursor, Tail uint64
	ParentCount, ParentStart    uint64
	ParentCursor, ParentTail    uint64
}

type destinationDescriptor struct {
	At, Rows uint64
}

type partitionDescriptor struct {
	Side                  [2]keyedDescriptor
	BitsFirst, BitsSecond uint64
	ChunkRows, RangeRows  uint64
	Extra, Counters       uint64
}

type tableDescriptor struct {
	Count, Unordered, Rows, Capacity uint64
	Ends, Buckets, Longest, Covered  uint64
}

type matchDescriptor struct {
	Join, Condition, Flags uint64
	ProbeMarks, BuildMarks uint64
	Build, Probe, Capacity uint64
	Progress               uint64
	Saved, Table, Finished uint64
}

// The descriptors of kernels/layout/groups.h.

type cellDescriptor struct {
	Kind, At, Local uint64
}

type groupsDescriptor struct {
	Words, Capacity, Limit, Probes uint64
	Count, Stride                  uint64
	States, Keys, Cells, Special   uint64
	CellWords, Kinds, CellCount    uint64
	Inputs, Firsts                 uint64
	Collide                        uint64
}

// What a launch does (gj_mode).
const (
	groupDirectly = iota
	groupScatter
	groupGather
)

// limitOffset is where groupsDescriptor.Limit is, in bytes; Probes is behind it.
const limitOffset = 16

type originDescriptor struct {
	Positions, Numbers, First uint64
}

type aggregateDescriptor struct {
	Program                          programDescriptor
	Filter, FilterColumns            uint64
	Groups, First, Rows, Chosen      uint64
	Left, LeftCount, Origins, NoKeys uint64
	Mode, Begin                      uint64
	Partitions, PartitionCapacity    uint64
	PartitionRows, PartitionCounts   uint64
	Staged, PassedAt, SlotsAt        uint64
	LocalAt                          uint64
	LocalCapacity, LocalGroups       uint64
	LocalProbes                      uint64
	LocalWords, LocalWides, Copies   uint64
}

type resultDescriptor struct {
	Groups, List, Rows, Kind, Width uint64
	Word, Shift, Digits, Null       uint64
	Out, Validity, Failed           uint64
}

// descriptorBytes are enough for each of them.
const descriptorBytes = 512

// What the match does with a pair (gj_flag).
const (
	emitPairs = 1 << iota
	markProbe
	markBuild
	firstOnly
)

// Counters of a launch of the match (gj_progress).
const (
	progressClaimed = iota
	progressLimit
	progressSuspended
	progressFailed // an expression is out of range
	progressWords
)
