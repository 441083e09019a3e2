package shm

// Versions that both sides must agree on.
const (
	ProtocolVersion = 2
	LayoutVersion   = 3
)

// Extents.
const (
	ExtentMinSize = 1 << 20
	ExtentMaxSize = 1 << 30
	BatchMagic    = 0x31424a47 // "GJB1"
	ChainMagic    = 0x31434a47 // "GJC1"
	MaxColumns    = 1664       // PostgreSQL's target list limit
	MaxInputs     = 64
	ChainRefByte  = 0x01
	ChainRefTag   = 0x47
	ChainDataOff  = 64
)

// Frames.
const (
	FrameMagic  = 0x31464a47 // "GJF1"
	FrameMax    = 4 << 20    // bytes of body
	FrameMaxFDs = 16
	TokenSize   = 16
	OpenRewind  = 0x1
	MaxText     = 1024 // bytes of text behind Failed
)

// Statistics.
const (
	MaxPhases       = 8    // of a join
	MaxParticipants = 1025 // a leader and PostgreSQL's limit of workers
)

// The status file.
const (
	StatusMagic = 0x31534a47 // "GJS1"
	RatePoints  = 8
	BeatMS      = 100 // from one Load to the next
	LoadReads   = 4   // of a Load that a write was under way of, before it counts as unknown
)

// regionAlign is the alignment of everything in an extent that an offset of
// Column names.
const regionAlign = 64
