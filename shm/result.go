package shm

// Run is gj_run: every participant has fed.
type Run struct {
	Generation uint32 `c:"generation"` // 1, 2 ...: one more each rewind
	Reserved   uint32 `c:"reserved"`
}

// Next is gj_next: deal the participant Count more result batches.
type Next struct {
	Count    uint32 `c:"count"`
	Reserved uint32 `c:"reserved"`
}

// Result is gj_result, one result batch, with one file descriptor.
type Result struct {
	Extent   uint64 `c:"extent"`
	Rows     uint32 `c:"rows"`
	Reserved uint32 `c:"reserved"`
}

// Release is gj_release: the extent is unmapped.
type Release struct {
	Extent uint64 `c:"extent"`
}

// ChainGet is gj_chain_get: send the parts of a value.
type ChainGet struct {
	Chain uint64 `c:"chain"`
}

// ChainParts is gj_chain_parts, with Count file descriptors; repeated until
// all Parts are sent.
type ChainParts struct {
	Chain    uint64              `c:"chain"`
	First    uint32              `c:"first"`
	Count    uint32              `c:"count"`
	Parts    uint32              `c:"parts"`
	Reserved uint32              `c:"reserved"`
	Extents  [FrameMaxFDs]uint64 `c:"extents"`
}

// Returned is gj_returned: what returning rows cost the participant.
type Returned struct {
	Rows     uint64 `c:"rows"`
	ReturnUS uint64 `c:"return_us"`
}
