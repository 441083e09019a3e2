package shm

// Run is gj_run: every participant has fed its rows.
type Run struct {
	Generation uint32 `c:"generation"` // 1, 2, ...: increases with each rewind
	Reserved   uint32 `c:"reserved"`
}

// Next is gj_next: send the participant Count more result batches.
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

// ChainGet is gj_chain_get: send an extent of a chain.
type ChainGet struct {
	Chain uint64 `c:"chain"`
}

// ChainExtent is gj_chain_extent, the answer to ChainGet, with one file
// descriptor.
type ChainExtent struct {
	Extent   uint64 `c:"extent"`
	Chain    uint64 `c:"chain"`
	Bytes    uint32 `c:"bytes"` // equals ChainHeader.Bytes
	Reserved uint32 `c:"reserved"`
}

// Returned is gj_returned: the participant's costs of returning rows.
type Returned struct {
	Rows     uint64 `c:"rows"`
	ReturnUS uint64 `c:"return_us"`
}
