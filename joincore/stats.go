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
	Algorithm string // Algorithm.String
	BuildLeft bool
	Bits      int // radix bits of a partitioned join
	BuildRows int64
	ProbeRows int64
	RowsOut   int64
	Time      time.Duration
	Work      DeviceWork
	Phases    []Phase // in the order of execution
}

// DeviceWork is what a join has asked of a device on the far side of a driver.
type DeviceWork struct {
	Launches int   // of kernels
	Syncs    int   // waits of the host for the device
	Bytes    int64 // of device memory read and written, by the model
	Peak     int64 // bytes of device memory in use at the highest
}

// Phase is a part of a join that is modelled and measured on its own.
type Phase struct {
	Name      string        // "build", "partition probe side", "match", ...
	Predicted time.Duration // by choose; 0: not predicted
	Actual    time.Duration
}
