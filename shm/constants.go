// Package shm is the Go mirror of shm/layout.h: the bytes that a backend and the
// daemon share.
//
// There are two kinds. Extents are sealed memfds of one fixed size; each holds a batch
// of rows in column layout, or consecutive long values. Frames are the control
// messages on the unix socket, and may carry file descriptors. A test compiles
// layout.h and its parts, and compares every struct, enum and constant with this
// package.
//
// Headers from a peer are copied once, and the copy is checked. Values, offsets and
// bitmaps stay in shared memory and are returned as slices that cannot grow. Their
// content may change at any time, so users clamp the values that they read.
//
// The layout is little-endian; the package builds only for little-endian machines.
package shm

// Versions, which both sides must have in common.
const (
	ProtocolVersion = 10
	LayoutVersion   = 13
)

// Extents.
const (
	ExtentMinSize = 1 << 20
	ExtentMaxSize = 1 << 30
	BatchMagic    = 0x31424a47 // "GJB1"
	ChainMagic    = 0x31434a47 // "GJC1"
	FilterMagic   = 0x314b4a47 // "GJK1"
	MaxColumns    = 1664       // PostgreSQL's target list limit
	MaxInputs     = 64
	ChainRefByte  = 0x01
	ChainRefTag   = 0x47
	ChainDataOff  = 64
)

// Filters.
const (
	FilterDataOff   = 64
	MaxFilters      = 64 // of a job
	MaxInputFilters = 8  // of one target
	BloomBits       = 4  // set by a key in its block
	hash1           = 0x9e3779b97f4a7c15
	hash2           = 0xd6e8feb86659fd93
)

// Frames.
const (
	FrameMagic  = 0x31464a47 // "GJF1"
	FrameMax    = 4 << 20    // bytes of a body
	FrameMaxFDs = 16
	TokenSize   = 16
	OpenRewind  = 0x1
	WholeShare  = 1000
	MaxText     = 1024 // bytes of text after Failed
)

// Kept columns.
const (
	GroupBlocks = 32672 // blocks of one page of the visibility map
	GroupBitmap = 4088  // bytes of a Bitmap
	MaxGroups   = 1000  // a larger table is not kept

	MaxInputGroups = 8000    // of all leaves of an input; one with more is not kept
	MaxEarlyPages  = 1 << 20 // bytes of PAGES before ADMITTED
	PagesAlways    = 0x1     // capture at the first use
	PagesMore      = 0x2     // PAGES of another leaf of the input follow
)

// The file of kept columns.
const (
	KeptMagic   = 0x314b4a47 // "GJK1"
	KeptColumns = 16384      // most columns of a file
	WholeTable  = 65535      // KeptColumn.Share
)

// Statistics.
const (
	MaxPhases       = 8    // per join
	MaxParticipants = 1025 // a leader and PostgreSQL's limit of workers
)

// The status file.
const (
	StatusMagic = 0x31534a47 // "GJS1"
	RatePoints  = 8
	GroupPoints = 4
	BeatMS      = 100 // between two writes of Load
	LoadReads   = 4   // attempts to read a Load during writes, before it counts as unknown
)

// regionAlign is the alignment of every array that a Column refers to.
const regionAlign = 64
