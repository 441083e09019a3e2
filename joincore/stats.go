package joincore

import "time"

// Stats is what an execution of a plan reports about itself. Algorithms fill
// it; nothing in joincore prints or logs.
type Stats struct {
	Provider string
	JoinTime time.Duration // without waits for the sink
	RowsOut  int64
	BytesOut int64
	Peak     int64 // bytes of Memory in use at the highest
	Joins    []JoinStats
}

// JoinStats describes one join of the tree, in post-order.
type JoinStats struct {
	Algorithm string // "phj-om", "phj-um", "npj"
	BuildLeft bool
	BuildRows int64
	ProbeRows int64
	RowsOut   int64
	Time      time.Duration
}
