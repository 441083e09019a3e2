package phj

// The descriptor mirrors kernels/layout/join.h, where the fields are documented. All
// fields are 8 bytes; addresses are device addresses. A test compares the fields; the
// sizes are checked again when the kernels are loaded.

const maxColumns = 8

type field struct {
	From, FromStride uint64
	To, ToStride     uint64
	Bytes            uint64
	At               uint64
}

type packedField struct {
	From, To        uint64
	Bytes, Offset   uint64
	Lane, LaneBytes uint64
}

type sideDescriptor struct {
	Rows, Key                uint64
	Column                   [maxColumns]uint64
	Fields, FieldCount       uint64
	First, FirstCapacity     uint64
	Final, FinalCapacity     uint64
	Count, Start             uint64
	Cursor, Tail             uint64
	ParentCount, ParentStart uint64
	ParentCursor, ParentTail uint64
	Packed, PackedCount      uint64
	Positions                uint64
}

type joinDescriptor struct {
	Side                        [2]sideDescriptor // build, probe
	BitsFirst, BitsSecond       uint64
	ChunkRows, RangeRows        uint64
	Extra, Counters             uint64
	Sample, Bypassed            uint64
	OutputCapacity, OutputChunk uint64
	Tails, TailCount            uint64
	BypassTail                  uint64
	OutputKey                   uint64
	OutputColumn                [2][maxColumns]uint64
}

// Counters of a join and of a sample.
const (
	counterOutputRows = 2
	counterBypassed   = 3
	counterKept       = 4
	counters          = 5

	sampled        = 0
	sampledMatched = 1
	sampledHot     = 2
	hotKeys        = 4
	summaryWords   = 8

	sampleSlots = 8192
	maxHotKeys  = 1024
	sampleBytes = 8*summaryWords + sampleSlots*(8+4*4) + 4*maxHotKeys
)

// Sizes of these types, which must equal the kernels' gj_layout.
const (
	fieldBytes = 6 * 8
	valueBytes = 6 * 8
	sideBytes  = (2 + maxColumns + 17) * 8
	joinBytes  = 2*sideBytes + 14*8 + 2*maxColumns*8
)

// sendDescriptor mirrors gj_send of kernels/layout/send.h, where the fields are
// documented. A test compares the fields; the size is checked again when the kernels are
// loaded.
type sendDescriptor struct {
	Base, Capacity [MaxDevices]uint64
	Members        uint64
	To, Full       uint64
	Front, Rest    uint64
	Cursor, Tail   uint64
	FirstRow       uint64
	Lanes          [MaxDevices]uint64
}

// MaxDevices is the most devices of a join.
const MaxDevices = 16

const sendBytes = (3*MaxDevices + 8) * 8
