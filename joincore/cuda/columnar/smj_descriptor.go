package columnar

import (
	"unsafe"
)

// The descriptors mirror kernels/layout/sort.h, where the fields are documented.

const (
	maxSortColumns = 1 + MaxPayload
	maxSortPasses  = 4
	digitBits      = 9
	sortFan        = 1 << digitBits
	maxEqualRun    = 128 // the fewest build rows of a deferred equal run
)

type sortColumn struct {
	At    [maxSortPasses + 1]uint64
	Bytes uint64
}

type sortSide struct {
	Rows, Columns uint64
	Column        [maxSortColumns]sortColumn
}

type sortDescriptor struct {
	Side      [2]sortSide // build, probe
	Passes    uint64
	Shift     [maxSortPasses]uint64
	Mask      [maxSortPasses]uint64
	Histogram uint64
	Tickets   uint64
	Status    uint64
}

type mergeDescriptor struct {
	Rows, Key       [2]uint64
	Bits            uint64
	Tiles, Splits   uint64
	Runs            uint64
	Deferred, Slice uint64
	Result          Result
}

// equalRun is gj_equal_run: build and probe rows of one order, too many
// for a tile.
type equalRun struct {
	FirstSlice       uint64
	Build, BuildRows uint64
	Probe, ProbeRows uint64
}

const equalRunBytes = int64(unsafe.Sizeof(equalRun{}))
