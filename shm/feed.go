package shm

// Want is gj_want: the backend requests extents to fill.
type Want struct {
	Count    uint32 `c:"count"` // 1 .. FrameMaxFDs
	Reserved uint32 `c:"reserved"`
}

// Grant is gj_grant, the answer to Want, with Count file descriptors.
type Grant struct {
	Count    uint32              `c:"count"`
	Reserved uint32              `c:"reserved"`
	Extents  [FrameMaxFDs]uint64 `c:"extents"`
}

// Filled is gj_filled: an extent holds a batch of an input and is unmapped.
type Filled struct {
	Extent uint64 `c:"extent"`
	Input  uint32 `c:"input"`
	Rows   uint32 `c:"rows"` // > 0; equals Batch.Rows
}

// ChainFilled is gj_chain_filled: an extent of the participant's chain holds
// data and is unmapped.
type ChainFilled struct {
	Extent   uint64 `c:"extent"`
	Chain    uint64 `c:"chain"` // equals ChainHeader.Chain
	Bytes    uint32 `c:"bytes"` // equals ChainHeader.Bytes
	Reserved uint32 `c:"reserved"`
}

// Fed is gj_fed: the participant has handed over all of its rows.
type Fed struct {
	Rows   uint64 `c:"rows"`
	Bytes  uint64 `c:"bytes"`
	FeedUS uint64 `c:"feed_us"` // wall time, waits included
	WaitUS uint64 `c:"wait_us"` // part of FeedUS: waiting for extents
}
